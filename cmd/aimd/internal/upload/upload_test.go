package upload

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestOddNamesGoAndComeBack(t *testing.T) {
	w := newWorld(t)
	want := map[string]string{}
	for _, name := range []string{
		"plain", "empty", "with space", "plus+and&and?and#and%41", "ünïcödé/日本", "new\nline", "-dash", "..odd", "a/b/c/d", "a-b/1", "a!/1", "a/b.c", "~", "quote\"'",
		"tab\t", "back\\slash", "star*", "a=b", "colon:x", "trailing.",
	} {
		content := "content of " + name
		if name == "empty" {
			content = ""
		}
		w.write(name, content)
		want["p/"+name] = content
	}
	w.write("bad\xff", "not UTF-8")
	o := w.run()
	require.EqualError(t, o.err, fmt.Sprintf("1 of %d files failed", len(want)+1))
	assert.Equal(t, want, w.stored())
	bad := o.lines["bad\ufffd"]
	assert.Equal(t, "failed", bad.Status)
	assert.Equal(t, "the name is not UTF-8, as a key must be", bad.Error)

	w.forget()
	require.NoError(t, os.Remove(filepath.Join(w.dir, "bad\xff")))
	o = w.run()
	require.NoError(t, o.err)
	assert.EqualValues(t, len(want), o.Skipped)
	assert.Zero(t, w.count("PUT"))
	assert.Zero(t, w.count("HEAD"), "the listing is enough")
}

func TestSecondRunSendsNothingButWhatChanged(t *testing.T) {
	w := newWorld(t)
	for i := range 30 {
		w.write(fmt.Sprintf("d/%02d", i), random(100))
	}
	large := random(10_000)
	w.write("large", large)
	o := w.run()
	require.NoError(t, o.err)
	assert.EqualValues(t, 31, o.Uploaded)
	assert.EqualValues(t, 30*100+10_000, o.Bytes)

	w.forget()
	o = w.run()
	require.NoError(t, o.err)
	assert.EqualValues(t, 31, o.Skipped)
	assert.Zero(t, w.count("PUT")+w.count("PUT?partNumber")+w.count("POST?uploads"))

	w.forget()
	w.write("d/07", random(100))
	w.write("large", strings.ToUpper(large))
	o = w.run()
	require.NoError(t, o.err)
	assert.EqualValues(t, 2, o.Uploaded)
	assert.Equal(t, "uploaded", o.status("d/07"))
	assert.Equal(t, 1, w.count("PUT"))
	assert.Equal(t, strings.ToUpper(large), w.stored()["p/large"])

	o = w.run(func(c *Config) { c.Force = true })
	require.NoError(t, o.err)
	assert.EqualValues(t, 31, o.Uploaded)
}

func TestDryRunSendsOnlyQuestions(t *testing.T) {
	w := newWorld(t)
	w.write("a", "a")
	w.write("large", random(10_000))
	o := w.run(func(c *Config) { c.DryRun = true })
	require.NoError(t, o.err)
	assert.EqualValues(t, 2, o.Planned)
	assert.Equal(t, "planned", o.status("large"))
	assert.Empty(t, w.stored())
	assert.Zero(t, w.count("PUT")+w.count("POST?uploads"))
}

func TestSameKeyTwice(t *testing.T) {
	w := newWorld(t)
	one, two := filepath.Join(w.dir, "one"), filepath.Join(w.dir, "two")
	w.write("one/a", "1")
	w.write("one/b", "1")
	w.write("two/b", "2")
	w.write("two/c", "2")
	list := filepath.Join(t.TempDir(), "failed")
	roots := func(c *Config) { c.Roots, c.Failed = []string{one, two, filepath.Join(two, "c")}, list }
	o := w.run(roots)
	require.EqualError(t, o.err, "2 of 5 files failed")
	assert.Equal(t, map[string]string{"p/a": "1", "p/b": "1", "p/c": "2"}, w.stored())
	assert.Equal(t, one+"/b has the same key and goes in its place", o.lines["two/b"].Error)

	o = w.run(roots, func(c *Config) { c.From = list })
	require.Error(t, o.err, "nor does it get the key when it comes alone")
	assert.Equal(t, "1", w.stored()["p/b"])
}

func TestFailedListIsGivenBack(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"a", "b", "odd\nname", "sub/c"} {
		w.write(name, name)
	}
	w.set(func(rw http.ResponseWriter, r *http.Request) bool {
		return isPut(r) && !strings.HasSuffix(r.URL.Path, "/a") && deny(rw, r, 403, "AccessDenied")
	})
	list := filepath.Join(t.TempDir(), "failed")
	o := w.run(func(c *Config) { c.Failed = list })
	require.EqualError(t, o.err, "3 of 4 files failed")
	assert.Contains(t, o.lines["b"].Error, "AccessDenied")
	assert.Equal(t, 1, o.lines["b"].Attempts)
	content, err := os.ReadFile(list)
	require.NoError(t, err)
	assert.ElementsMatch(t, []string{w.dir + "/b", w.dir + "/odd\nname", w.dir + "/sub/c", ""}, strings.Split(string(content), "\x00"))

	w.set(nil)
	w.write("new", "not in the list")
	o = w.run(func(c *Config) { c.Failed, c.From = list, list })
	require.NoError(t, o.err)
	assert.EqualValues(t, 3, o.Uploaded)
	assert.Equal(t, map[string]string{"p/a": "a", "p/b": "b", "p/odd\nname": "odd\nname", "p/sub/c": "sub/c"}, w.stored())
	content, err = os.ReadFile(list)
	require.NoError(t, err)
	assert.Empty(t, content)
}
