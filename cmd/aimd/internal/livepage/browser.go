package livepage

import (
	"os/exec"
	"runtime"
)

// browse opens the address in the user's browser, and does not wait for that.
func browse(url string) error {
	words := opener(runtime.GOOS, url)
	c := exec.Command(words[0], words[1:]...)
	if err := c.Start(); err != nil {
		return err
	}
	go func() { _ = c.Wait() }() // or it stays as a zombie
	return nil
}

// opener is the command that opens an address.
func opener(system, url string) []string {
	switch system {
	case "darwin":
		return []string{"open", url}
	case "windows":
		return []string{"rundll32", "url.dll,FileProtocolHandler", url}
	}
	return []string{"xdg-open", url}
}
