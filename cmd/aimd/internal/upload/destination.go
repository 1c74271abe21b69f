package upload

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/aimd-go/aimd/cmd/aimd/internal/value"
)

// destination takes s3://bucket/prefix apart. The prefix becomes "" or ends in a slash.
func destination(s string) (bucket, prefix string, err error) {
	rest, ok := strings.CutPrefix(s, "s3://")
	if !ok {
		return "", "", fmt.Errorf("destination %s: want s3://bucket or s3://bucket/prefix as the last argument", s)
	}
	bucket, prefix, _ = strings.Cut(rest, "/")
	if err := value.Bucket(&bucket).Set(bucket); err != nil {
		return "", "", fmt.Errorf("destination %s: bucket %q: %w", s, bucket, err)
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
