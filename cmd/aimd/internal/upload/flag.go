package upload

import (
	"errors"
	"fmt"
	"math"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aimd-go/aimd/cmd/aimd/internal/upload/sum"
)

// flag is a flag's value that checks what it is given. The flag library names the
// flag and the value in the error, want says what is allowed.
type flag[T any] struct {
	to    *T
	kind  string
	want  string
	parse func(string) (T, bool)
	// text is the value as it is given.
	text string
}

// Set implements pflag.Value.
func (f *flag[T]) Set(s string) error {
	x, ok := f.parse(s)
	if !ok {
		return errors.New("want " + f.want)
	}
	*f.to, f.text = x, s
	return nil
}

// Type and String implement pflag.Value.
func (f *flag[T]) Type() string   { return f.kind }
func (f *flag[T]) String() string { return f.text }

// preset is the flag with its default.
func (f *flag[T]) preset(s string) *flag[T] {
	if err := f.Set(s); err != nil {
		panic(fmt.Sprintf("upload: default %q: %v", s, err))
	}
	return f
}

func number(to *float64, lo, hi float64, want string) *flag[float64] {
	return &flag[float64]{to: to, kind: "number", want: want, parse: func(s string) (float64, bool) {
		x, err := strconv.ParseFloat(s, 64)
		return x, err == nil && lo <= x && x <= hi
	}}
}

// factor is a number between 0 and 1, neither of them.
func factor(to *float64) *flag[float64] {
	return number(to, math.SmallestNonzeroFloat64, math.Nextafter(1, 0), "a number greater than 0 and less than 1")
}

func window(to *float64) *flag[float64] {
	return number(to, 1, 10_000, "a number of requests from 1 to 10000")
}

func attempts(to *int) *flag[int] {
	return &flag[int]{to: to, kind: "number", want: "a whole number from 0", parse: func(s string) (int, bool) {
		x, err := strconv.Atoi(s)
		return x, err == nil && x >= 0
	}}
}

func timeout(to *time.Duration) *flag[time.Duration] {
	return &flag[time.Duration]{to: to, kind: "duration", want: "a duration from 1s to 24h, or 0 for none", parse: func(s string) (time.Duration, bool) {
		d, err := time.ParseDuration(s)
		return d, err == nil && (d == 0 || time.Second <= d && d <= 24*time.Hour)
	}}
}

// choice is one of several words.
func choice[T any](to *T, words []string, values []T) *flag[T] {
	return &flag[T]{to: to, kind: strings.Join(words, "|"), want: "one of " + strings.Join(words, ", "), parse: func(s string) (v T, ok bool) {
		for i, w := range words {
			if s == w {
				return values[i], true
			}
		}
		return v, false
	}}
}

func checksum(to **sum.Algorithm) *flag[*sum.Algorithm] {
	words, values := []string{}, []*sum.Algorithm{}
	for _, a := range sum.Algorithms() {
		words, values = append(words, strings.ToLower(a.Name)), append(values, a)
	}
	return choice(to, append(words, "md5"), append(values, nil))
}

// Bounds of a single upload and of a part:
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html
const (
	partLeast = 5 << 20
	partMost  = 5 << 30
)

func size(to *int64, lo, hi int64, want string) *flag[int64] {
	return &flag[int64]{to: to, kind: "size", want: want, parse: func(s string) (int64, bool) {
		n, ok := parseSize(s)
		return n, ok && lo <= n && n <= hi
	}}
}

var sizeForm = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?) ?(?:([kKmMgG])([iI]?)[bB]?|[bB]?)$`)

// parseSize reads a number of bytes like 512, 8MiB or 1.5GB.
func parseSize(s string) (int64, bool) {
	m := sizeForm.FindStringSubmatch(s)
	if m == nil {
		return 0, false
	}
	x, err := strconv.ParseFloat(m[1], 64)
	base := 1024.0
	if m[3] == "" && strings.HasSuffix(strings.ToLower(s), "b") {
		base = 1000
	}
	x *= math.Pow(base, float64(1+strings.Index("KMG", strings.ToUpper(m[2]))))
	if m[2] == "" {
		x /= base
	}
	return int64(x), err == nil && x < math.MaxInt64
}

func endpoint(to *string) *flag[string] {
	return &flag[string]{to: to, kind: "URL", want: "a URL like http://127.0.0.1:9000 (credentials come from the AWS environment)", parse: func(s string) (string, bool) {
		u, err := url.Parse(s)
		return s, err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https") && u.User == nil
	}}
}

var bucketName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)

// destination takes s3://bucket/prefix apart. The prefix becomes "" or ends in a slash.
func destination(s string) (bucket, prefix string, err error) {
	rest, ok := strings.CutPrefix(s, "s3://")
	if !ok {
		return "", "", fmt.Errorf("destination %s: want s3://bucket or s3://bucket/prefix as the last argument", s)
	}
	bucket, prefix, _ = strings.Cut(rest, "/")
	if !bucketName.MatchString(bucket) {
		return "", "", fmt.Errorf("destination %s: bucket %q: want 3 to 63 of a-z, 0-9, '.' and '-'", s, bucket)
	}
	if !utf8.ValidString(prefix) {
		return "", "", fmt.Errorf("destination %s: the prefix must be UTF-8, as keys are", s)
	}
	for _, element := range strings.Split(prefix, "/") {
		if element == "." || element == ".." {
			return "", "", fmt.Errorf("destination %s: the prefix must have no element %q: most clients could not name such keys", s, element)
		}
	}
	if prefix != "" && !strings.HasSuffix(prefix, "/") {
		prefix += "/"
	}
	return bucket, prefix, nil
}
