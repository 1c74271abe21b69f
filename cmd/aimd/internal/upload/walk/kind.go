package walk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// kind is what a child of a directory is. It is a byte, to be sorted along with
// the name.
type kind byte

const (
	file            kind = 'f'
	directory       kind = 'd'
	linkedDirectory kind = 'l'
	// skippedLink is a link that is not to be followed.
	skippedLink kind = 'n'
	// dangling is a link that leads nowhere.
	dangling kind = 'x'
	// strange is anything else: looked at again when its turn comes.
	strange kind = 's'
)

// kind tells what a child is, as the links are to be taken.
func (w Walker) kind(dir string, e fs.DirEntry) kind {
	mode := e.Type()
	if mode&fs.ModeSymlink == 0 {
		return kindOf(mode)
	}
	if w.Links == FollowNone {
		return skippedLink
	}
	info, err := os.Stat(filepath.Join(dir, e.Name()))
	if err != nil {
		return dangling
	}
	k := kindOf(info.Mode())
	switch {
	case k == directory && w.Links == FollowFiles:
		return skippedLink
	case k == directory:
		return linkedDirectory
	}
	return k
}

func kindOf(mode fs.FileMode) kind {
	switch {
	case mode.IsDir():
		return directory
	case mode.IsRegular():
		return file
	}
	return strange
}

func (k kind) err(path string) error {
	switch k {
	case file:
		return nil
	case skippedLink:
		return ignoredLink
	}
	info, err := os.Stat(path)
	switch {
	case k == dangling && errors.Is(err, fs.ErrNotExist):
		return errors.New("symbolic link that leads nowhere")
	case err != nil:
		return err
	}
	return special(info.Mode())
}

// special is why something of that mode is not uploaded; nil if it is.
func special(mode fs.FileMode) error {
	switch {
	case mode.IsRegular():
		return nil
	case mode&fs.ModeSocket != 0:
		return ignoredSocket
	case mode&fs.ModeNamedPipe != 0:
		return ignoredPipe
	case mode&fs.ModeDevice != 0:
		return ignoredDevice
	}
	return ignoredStrange
}

// join makes one string of kind and name that sorts as the keys do: a
// directory's keys have a slash after its name, and NUL, which no name has, sorts
// before all that could follow.
func (k kind) join(name string) string {
	if k == directory || k == linkedDirectory {
		name += "/"
	}
	return name + "\x00" + string(rune(k))
}

// split is the reverse of join; the name of a directory keeps its slash.
func split(child string) (string, kind) {
	name, k, _ := strings.Cut(child, "\x00")
	return name, kind(k[0])
}
