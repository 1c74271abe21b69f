package answer

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// scan reads the tokens of a document in JSON, up to its end, or to where it is cut or no JSON. It allocates nothing:
// a token is a part of the document.
type scan struct {
	from string
	at   int
	// depth is the number of open objects and lists, and objects has a bit for each depth that is an object.
	depth   int
	objects uint64
	// named: the next token is the value of a key. ended: a value has ended, so a comma or an end follows.
	named, ended bool
}

// hollow reports whether the object or list that was just opened is empty.
func (s *scan) hollow() bool {
	rest := strings.TrimLeft(s.from[s.at:], " \n\t\r")
	return rest != "" && (rest[0] == '}' || rest[0] == ']')
}

// mostDepth is the depth at which reading ends.
const mostDepth = 63

// The kinds of tokens that are no delimiter. A delimiter is its own kind.
const (
	keyToken  = 'k'
	textToken = '"'
	bareToken = '0' // a number, true, false or null
)

// next returns a token and what stands in it; kind 0: there is no other.
func (s *scan) next() (kind byte, value string) {
	for ; s.at < len(s.from); s.at++ {
		object := s.depth > 0 && s.objects&(1<<s.depth) != 0
		switch c := s.from[s.at]; {
		case c == ' ' || c == '\n' || c == '\t' || c == '\r':
		case c == ',' && s.ended && !s.named && s.depth > 0:
			s.ended = false
		case c == ':' && s.named && s.ended:
			s.ended = false
		case s.depth > 0 && (c == '}' && object || c == ']' && !object) && !s.named:
			s.depth--
			s.at++
			s.ended = true
			return c, ""
		case s.ended:
			return 0, ""
		case c == '"':
			return s.quoted(object)
		case object && !s.named:
			return 0, ""
		case c == '{' || c == '[':
			if s.depth == mostDepth {
				return 0, ""
			}
			s.depth++
			s.objects &^= 1 << s.depth
			if c == '{' {
				s.objects |= 1 << s.depth
			}
			s.at++
			s.named = false
			return c, ""
		default:
			return s.bare()
		}
	}
	return 0, ""
}

func (s *scan) quoted(object bool) (byte, string) {
	begin := s.at + 1
	for i := begin; i < len(s.from); i++ {
		switch s.from[i] {
		case '\\':
			i++
		case '"':
			s.at = i + 1
			kind := byte(textToken)
			if object && !s.named {
				kind = keyToken
			}
			s.named, s.ended = kind == keyToken, true
			return kind, s.from[begin:i]
		}
	}
	return 0, ""
}

// bare reads a number, true, false or null.
func (s *scan) bare() (byte, string) {
	end, numeric := s.at, true
	for ; end < len(s.from) && end < s.at+longestCode; end++ {
		c := s.from[end]
		if c >= '0' && c <= '9' || c == '.' || c == '-' || c == '+' || c == 'e' || c == 'E' {
			continue
		}
		if c < 'a' || c > 'z' {
			break
		}
		numeric = false
	}
	value := s.from[s.at:end]
	if value == "" || !numeric && value != "true" && value != "false" && value != "null" {
		return 0, ""
	}
	s.at = end
	s.named, s.ended = false, true
	return bareToken, value
}

// plain adds a text of JSON without its escapes, up to a length. What is no escape stays as it is.
func plain(to []byte, text string, most int) []byte {
	for len(text) > 0 && len(to) < most {
		r, size := utf8.DecodeRuneInString(text)
		if r == '\\' && len(text) > 1 {
			r, size = escaped(text)
		}
		to, text = utf8.AppendRune(to, r), text[size:]
	}
	return to[:min(len(to), most)]
}

// escaped is the letter of the escape with which the text begins, and the length of the escape.
func escaped(text string) (rune, int) {
	switch c := text[1]; c {
	case 'n', 't', 'r', 'b', 'f':
		return ' ', 2
	case 'u':
		r := hex(text)
		if utf16.IsSurrogate(r) {
			return utf16.DecodeRune(r, hex(text[min(len(text), 6):])), min(len(text), 12)
		}
		return r, min(len(text), 6)
	default:
		return rune(c), 2
	}
}

func hex(text string) rune {
	if len(text) >= 6 {
		if n, err := strconv.ParseUint(text[2:6], 16, 32); err == nil {
			return rune(n)
		}
	}
	return utf8.RuneError
}
