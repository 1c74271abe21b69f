package verdict

import (
	"strings"

	"github.com/aimd-go/aimd/answer"
)

// mostWords is the part of a text that is looked through for a status or a code, in bytes. Our choice: errors are short.
const mostWords = 1 << 10

// phrases are what stands behind a status that refuses, in lower case: RFC 9110, section 15; RFC 6585, section 4.
var phrases = map[string]string{"503": "service unavailable", "429": "too many requests", "509": "bandwidth limit exceeded"}

// before are the words before a status; "code" counts behind one of them: "status code: 429".
var before = map[string]bool{"status": true, "http": true, "http/1.1": true, "http/2.0": true, "statuscode": true, "httpstatus": true}

// named returns the refusal that a text has, as a status beside its name or as a code of the table: "status 429", "503
// Service Unavailable", "es_rejected_execution_exception: ...". A number alone says nothing. It is a guess.
func named(text string) Verdict {
	text = text[:min(len(text), mostWords)]
	last := [2]string{}
	for rest := text; rest != ""; {
		word := strings.TrimLeft(rest, " \t\r\n:,;()[]\"'`=")
		rest = word
		if i := strings.IndexAny(word, " \t\r\n:,;()[]\"'`="); i >= 0 {
			word, rest = word[:i], word[i:]
		} else {
			rest = ""
		}
		status := before[last[1]] || last[1] == "code" && before[last[0]] ||
			phrases[word] != "" && strings.HasPrefix(strings.ToLower(strings.TrimLeft(rest, " ")), phrases[word])
		if status && len(word) == 3 || len(word) >= shortestCode {
			if v := VerdictOf(answer.Of(word, "", 0)); v.Meaning == answer.Refused || v.Meaning == answer.Guessed {
				return Verdict{Meaning: answer.Guessed}
			}
		}
		last = [2]string{last[1], strings.ToLower(word)}
	}
	return Verdict{}
}

// shortestCode is the length of the shortest code that is looked for in a text. Our choice: shorter ones are words.
const shortestCode = 8
