//go:build unix

package again

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/cmd/aimd/internal/cli"
)

// asCommand makes the test's own program aimd.
const asCommand = "AIMD_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		os.Exit(cli.Tool{Commands: []*cobra.Command{Command()}, Stdout: os.Stdout, Stderr: os.Stderr}.Run(context.Background(), os.Args[1:]...))
	}
	// If the tests were started with nohup or in the background, the commands would ignore these signals.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP, syscall.SIGINT)
	_ = os.Setenv("GORACE", "atexit_sleep_ms=0") // else each of its processes ends a second later
	os.Exit(m.Run())
}

type outcome struct {
	status         int
	stdout, stderr string
}

// process is aimd retry in a process of its own, with standard input from a pipe or a file.
func process(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], append([]string{"retry"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), asCommand+"=1")
	return cmd
}

func run(t *testing.T, cmd *exec.Cmd) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		var exit *exec.ExitError
		require.ErrorAs(t, err, &exit)
	}
	return outcome{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// quick is a backoff without a wait worth the name.
var quick = []string{"--form=constant", "--min=1us"}

// sh runs a script as the command, with more flags before it.
func sh(t *testing.T, script string, flags ...string) outcome {
	t.Helper()
	args := append(append(append([]string{}, quick...), flags...), "--", "sh", "-c", script)
	return run(t, process(t, t.TempDir(), args...))
}

// count is a script that fails with that status until its third run.
func count(status string) string {
	return `echo x >> runs; test $(wc -l < runs) -ge 3 && echo done && exit; exit ` + status
}

func TestItRunsUntilItSucceeds(t *testing.T) {
	got := sh(t, count("7"))
	assert.Equal(t, outcome{0, "done\n", got.stderr}, got)
	assert.Equal(t, 2, strings.Count(got.stderr, "status 7; again in "), got.stderr)
	assert.Contains(t, got.stderr, "aimd: try 2: status 7; again in ")
	assert.Empty(t, sh(t, count("7"), "--quiet").stderr)
}

// It exits with the command's last status.
func TestStatuses(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		flags  []string
		status int
		says   string
	}{
		"used up":        {"exit 9", []string{"--max-attempts", "2"}, 9, "gave up after 2 attempts: aimd: attempt limit reached; last error: status 9\n"},
		"of the form":    {"exit 9", []string{"--form", "last-try", "--max", "3us", "--factor", "2"}, 9, "gave up after 3 attempts: aimd: attempt limit reached; last error: status 9\n"},
		"a form changed": {"exit 9", []string{"--form", "clojure", "--min", "4us", "--max", "5us"}, 9, "gave up after 2 attempts: aimd: attempt limit reached"},
		"never":          {"exit 9", []string{"--never", "8,9"}, 9, "failed after 1 attempt: status 9: --never\n"},
		"never said":     {"echo No Such Bucket >&2; exit 9", []string{"--again-says", "bucket", "--never-says", "no such"}, 9, `failed after 1 attempt: status 9, said "no such": --never-says`},
		"never by words": {"echo full >&2; exit 3", []string{"--never-says", "full", "--again", "3"}, 3, `failed after 1 attempt`},
		"nothing else":   {"exit 9", []string{"--again", "8"}, 9, "failed after 1 attempt: status 9, not one of --again\n"},
		"again":          {count("8"), []string{"--again", "8"}, 0, "try 2: status 8: --again; again in "},
		"again said":     {"echo queue capacity reached >&2; " + count("8"), []string{"--again-says", "Queue Capacity"}, 0, `try 2: status 8, said "Queue Capacity": --again-says; again in `},
		"not executable": {"exit 126", nil, 126, "failed after 1 attempt: status 126: --never\n"},
		"killed":         {"kill -TERM $$", nil, 143, "failed after 1 attempt: killed: terminated\n"},
		"crashed":        {"kill -SEGV $$", []string{"--max-attempts", "2"}, 139, "gave up after 2 attempts"},
		"out of time":    {"exit 5", []string{"--form", "constant", "--min", "1h", "--for", "1m"}, 5, "gave up after 1 attempt: the next attempt is due in "},
		"took too long":  {"trap 'exit 0' TERM; while :; do sleep .1; done", []string{"--timeout", "200ms", "--max-attempts", "1"}, 124, "last error: took too long\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got := sh(t, c.script, c.flags...)
			assert.Equal(t, c.status, got.status, got.stderr)
			assert.Contains(t, got.stderr, c.says)
			if strings.Contains(c.says, "after 1 attempt") {
				assert.NotContains(t, got.stderr, "again in", "a try that will not be made is not announced")
			}
		})
	}
	got := run(t, process(t, t.TempDir(), "--", "./there-is-no-such-command"))
	assert.Equal(t, 127, got.status)
	assert.Contains(t, got.stderr, "aimd: failed after 1 attempt: ")
}

// "aimd retry --sense": while the look finds no room the command is not started.
func TestSense(t *testing.T) {
	got := sh(t, "echo ran", "--sense", count("3"))
	assert.Equal(t, outcome{0, "ran\n", got.stderr}, got)
	assert.Equal(t, 2, strings.Count(got.stderr, "carrier sense found no room: status 3; again in "))
	got = sh(t, "echo ran", "--sense", "exit 3", "--max-attempts", "4")
	assert.Equal(t, outcome{3, "", got.stderr}, got)
	assert.Contains(t, got.stderr, "gave up after 4 attempts")
	got = sh(t, "echo ran", "--sense", "exec sleep 3600", "--max-attempts", "1", "--timeout", "1ms")
	assert.Equal(t, outcome{143, "", got.stderr}, got)
	assert.Contains(t, got.stderr, "last error: aimd: carrier sense found no room: took too long\n")
}

// A file is read again by each try; a pipe cannot be.
func TestEachTryReadsTheSameStandardInput(t *testing.T) {
	args := append(append([]string{}, quick...), "--", "sh", "-c", "cat; "+count("1"))
	name := filepath.Join(t.TempDir(), "in")
	require.NoError(t, os.WriteFile(name, []byte("skipped\nthe rest\n"), 0o600))
	f, err := os.Open(name)
	require.NoError(t, err)
	defer f.Close()
	_, err = f.Seek(8, 0)
	require.NoError(t, err)
	cmd := process(t, t.TempDir(), args...)
	cmd.Stdin = f // from where it stands
	got := run(t, cmd)
	assert.Equal(t, strings.Repeat("the rest\n", 3)+"done\n", got.stdout)

	cmd = process(t, t.TempDir(), args...)
	cmd.Stdin = strings.NewReader("one\n") // a pipe
	got = run(t, cmd)
	assert.Equal(t, outcome{1, "one\n", got.stderr}, got, "one try, and the command's own status")
	assert.Contains(t, got.stderr, "status 1; no other try: the command may have read its standard input, a pipe; want a file, with < (put the pipe into a file first), or < /dev/null\n")

	if runtime.GOOS != "linux" {
		return
	}
	r, w, err := os.Pipe() // as cron's
	require.NoError(t, err)
	defer r.Close()
	require.NoError(t, w.Close())
	cmd = process(t, t.TempDir(), args...)
	cmd.Stdin = r
	assert.Equal(t, "done\n", run(t, cmd).stdout)
}

// A pipe that stays open does not keep the command from starting, or aimd from ending.
func TestItStartsAtOnce(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer w.Close()
	defer r.Close()
	cmd := process(t, t.TempDir(), "--", "echo", "ran")
	cmd.Stdin = r
	assert.Equal(t, outcome{0, "ran\n", ""}, run(t, cmd))
}

// A signal goes to the command and to its children, which would else run next to the next try. Its end is the
// command's last.
func TestSignals(t *testing.T) {
	trap := func(name string) []string {
		return []string{"--", "sh", "-c", `trap 'echo got it >&2; exit 33' ` + name + `; echo here >&2; while :; do sleep .1; done`}
	}
	const gotIt = "got it\naimd: interrupted: status 33\n"
	for name, c := range map[string]struct {
		args   []string
		sig    syscall.Signal
		status int
		says   string
	}{
		"INT":               {trap("INT"), syscall.SIGINT, 33, gotIt},
		"TERM":              {trap("TERM"), syscall.SIGTERM, 33, gotIt},
		"HUP":               {trap("HUP"), syscall.SIGHUP, 33, gotIt},
		"children":          {[]string{"--", "sh", "-c", "sleep 3600 & echo here >&2; wait"}, syscall.SIGTERM, 143, "aimd: interrupted: killed: terminated\n"},
		"between two tries": {[]string{"--form", "constant", "--min", "1h", "--", "false"}, syscall.SIGINT, cli.Interrupted, "aimd: interrupted\n"},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := process(t, t.TempDir(), c.args...)
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // away from the terminal, if there is one
			stderr, err := cmd.StderrPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			r := bufio.NewReader(stderr)
			line, err := r.ReadString('\n')
			require.NoError(t, err)
			require.True(t, line == "here\n" || strings.HasPrefix(line, "aimd: try 1"), line)
			require.NoError(t, cmd.Process.Signal(c.sig))
			rest, err := io.ReadAll(r) // until the last process has closed it
			require.NoError(t, err)
			_ = cmd.Wait()
			assert.Equal(t, c.status, cmd.ProcessState.ExitCode())
			assert.True(t, strings.HasSuffix(string(rest), c.says), "%s", rest)
			assert.NotContains(t, string(rest), "again in", "there is no other try")
		})
	}
}

// As of a script's background jobs, which a Ctrl-C is not for.
func TestSignalIgnoredAtTheStartStaysIgnored(t *testing.T) {
	cmd := process(t, t.TempDir(), "--", "sh", "-c", "kill -INT $$ $PPID; echo done")
	cmd.Args = append([]string{"sh", "-c", `trap "" INT; exec "$0" "$@"`, cmd.Path}, cmd.Args[1:]...)
	sh, err := exec.LookPath("sh")
	require.NoError(t, err)
	cmd.Path = sh
	assert.Equal(t, outcome{stdout: "done\n"}, run(t, cmd))
}

// Each example of the help runs, with stand-ins for what it calls.
func TestTheExamplesRun(t *testing.T) {
	dir := t.TempDir()
	stand := func(name, script string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o700))
	}
	stand("aimd", `exec `+os.Args[0]+` "$@"`)
	for _, name := range []string{"curl", "rsync", "submit"} {
		stand(name, `echo `+name+` "$@"`)
	}
	stand("pg_dump", "echo a shop")
	stand("ssh", `sh -c "$2"`)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "queue"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "job.txt"), []byte("a job\n"), 0o600))
	lines := strings.Split(strings.ReplaceAll(Command().Example, "\\\n", ""), "\n")
	require.Len(t, lines, 6)
	for _, line := range lines {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", line)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), asCommand+"=1", "PATH="+dir+":"+os.Getenv("PATH"))
		got := run(t, cmd)
		assert.Zero(t, got.status, "%s: %s", line, got.stderr)
		assert.Empty(t, got.stderr, line)
	}
	for name, want := range map[string]string{"dump": "a shop\n", "shop.sql": "a shop\n", "queue/job.txt": "a job\n"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		assert.Equal(t, want, string(text))
	}
}

// However much a try writes to standard error, only its end is kept and searched.
func TestOnlyTheEndOfStandardErrorIsHeard(t *testing.T) {
	h := new(heard)
	write := func(s string) { _, _ = h.Write([]byte(s)) }
	write("Busy" + strings.Repeat("x", longestTail))
	assert.False(t, h.says("busy"))
	write("\nbu")
	write("SY\n")
	assert.True(t, h.says("busy"))

	chunk := make([]byte, 32<<10)
	assert.Zero(t, testing.AllocsPerRun(100, func() { _, _ = h.Write(chunk) }))
	assert.LessOrEqual(t, cap(h.tail), 3*longestTail)
}
