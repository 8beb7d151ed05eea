// Writes what Go's text/template makes of the cases beside it: `go` (the output) or `go_error` (the message) of each.
//
//	cd corpus/templates && GOTOOLCHAIN=local GOPROXY=off go run go/main.go *.toml
//
// It reads the part of TOML that the files use: `[[case]]`, and lines `key = 'literal'` or `key = "basic"`. All other
// lines stay as they are.
//
// The data is decoded as tamis promises, not as encoding/json does by default: an integer is an int (a uint64, if it
// only fits there; its text, if it fits neither), any other number is a float64 (its text, if it is too large for one).
// "-0" is the float.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"math"
	"os"
	"strconv"
	"strings"
	"text/template"
)

func main() {
	for _, name := range os.Args[1:] {
		text, err := os.ReadFile(name)
		if err != nil {
			log.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(complete(name, string(text))), 0o644); err != nil {
			log.Fatal(err)
		}
	}
}

// complete is the file with Go's answer below the last line of each case's question.
func complete(name, text string) string {
	var lines []string
	for _, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		if !strings.HasPrefix(line, "go = ") && !strings.HasPrefix(line, "go_error = ") {
			lines = append(lines, line)
		}
	}
	var out []string
	shared, data, source, inCase := "{}", "", "", false
	// The answer goes below the last line of `template` and `data`.
	last := -1
	flush := func() {
		if !inCase {
			return
		}
		if data == "" {
			data = shared
		}
		answer := answer(name, source, data)
		tail := append([]string{answer}, out[last+1:]...)
		out = append(out[:last+1], tail...)
	}
	for number, line := range lines {
		key, value, found := strings.Cut(line, " = ")
		switch {
		case line == "[[case]]":
			flush()
			data, source, inCase = "", "", true
		case found && key == "data" && !inCase:
			shared = unquote(name, number, value)
		case found && key == "data":
			data = unquote(name, number, value)
		case found && key == "template":
			source = unquote(name, number, value)
		}
		out = append(out, line)
		if found && (key == "data" || key == "template") {
			last = len(out) - 1
		}
	}
	flush()
	return strings.Join(out, "\n") + "\n"
}

func unquote(name string, number int, value string) string {
	if strings.HasPrefix(value, "'") && strings.HasSuffix(value, "'") && len(value) > 1 {
		return value[1 : len(value)-1]
	}
	text, err := strconv.Unquote(value)
	if err != nil {
		log.Fatalf("%s:%d: %s: %v", name, number+1, value, err)
	}
	return text
}

func answer(name, source, data string) string {
	value, err := decode(data)
	if err != nil {
		log.Fatalf("%s: %s: %v", name, data, err)
	}
	parsed, err := template.New("t").Parse(source)
	if err != nil {
		return "go_error = " + quote(err.Error())
	}
	var text bytes.Buffer
	if err := parsed.Execute(&text, value); err != nil {
		return "go_error = " + quote(err.Error())
	}
	return "go = " + quote(strings.ToValidUTF8(text.String(), "\uFFFD"))
}

func decode(data string) (any, error) {
	decoder := json.NewDecoder(strings.NewReader(data))
	decoder.UseNumber()
	var value any
	err := decoder.Decode(&value)
	return numbers(value), err
}

func numbers(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key, member := range value {
			value[key] = numbers(member)
		}
	case []any:
		for index, element := range value {
			value[index] = numbers(element)
		}
	case json.Number:
		return number(value.String())
	}
	return value
}

func number(text string) any {
	if text != "-0" && !strings.ContainsAny(text, ".eE") {
		if integer, err := strconv.Atoi(text); err == nil {
			return integer
		}
		if integer, err := strconv.ParseUint(text, 10, 64); err == nil {
			return integer
		}
		return text
	}
	if float, err := strconv.ParseFloat(text, 64); err == nil && !math.IsInf(float, 0) {
		return float
	}
	return text
}

// quote is a basic string of TOML.
func quote(text string) string {
	var out strings.Builder
	out.WriteByte('"')
	for _, char := range text {
		switch {
		case char == '"' || char == '\\':
			out.WriteByte('\\')
			out.WriteRune(char)
		case char == '\n':
			out.WriteString(`\n`)
		case char == '\t':
			out.WriteString(`\t`)
		case char < ' ' || char == 0x7f || char >= 0x80 && char < 0xa0 || char == 0xfffd || char == 0xfeff:
			fmt.Fprintf(&out, `\u%04X`, char)
		default:
			out.WriteRune(char)
		}
	}
	out.WriteByte('"')
	return out.String()
}
