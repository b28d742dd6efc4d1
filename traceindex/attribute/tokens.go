package attribute

import (
	"strings"
)

// tokenKind is what a frame's child is.
type tokenKind uint8

const (
	tokenBuiltin tokenKind = iota // a C function or method: `<built-in method view of Tensor object at 0x…>`
	tokenModule                   // an nn.Module's call: `nn.Module: Linear_0`
	tokenPython                   // a Python function: `f.py(12): step`
	tokenOp                       // a framework operator that no Python event encloses: `aten::mul`
)

// token is one direct child of a frame, as far as the source can tell it from others.
type token struct {
	kind tokenKind
	// name is the function's, class's or operator's own name, without namespace, instance number or qualification.
	name string
	// owner is the type a built-in method belongs to, or the class part of a qualified Python name.
	owner string
	file  string
	line  int
	// callLine is the recorded line of the call, 0 if none was recorded.
	callLine int
	// inside are the names of the frames below, nearest first; filled only for tokens that no call in the source names.
	inside []string
}

// parseName reads an event name as the profiler writes it. Addresses are dropped: they are reused and identify nothing.
func parseName(name string) token {
	switch {
	case strings.HasPrefix(name, "<built-in method "):
		rest := strings.TrimPrefix(name, "<built-in method ")
		method, owner, _ := strings.Cut(rest, " of ")
		owner, _, _ = strings.Cut(owner, " object at ")
		return token{kind: tokenBuiltin, name: strings.TrimSuffix(method, ">"), owner: strings.TrimSuffix(owner, ">")}
	case strings.HasPrefix(name, "<built-in function "):
		return token{kind: tokenBuiltin, name: strings.TrimSuffix(strings.TrimPrefix(name, "<built-in function "), ">")}
	case strings.HasPrefix(name, "<method '"), strings.HasPrefix(name, "<slot wrapper '"), strings.HasPrefix(name, "<method-wrapper '"):
		// <method 'append' of 'list' objects>
		_, rest, _ := strings.Cut(name, "'")
		method, rest, _ := strings.Cut(rest, "'")
		_, rest, _ = strings.Cut(rest, "'")
		owner, _, _ := strings.Cut(rest, "'")
		return token{kind: tokenBuiltin, name: method, owner: owner}
	case strings.HasPrefix(name, "nn.Module: "):
		class := strings.TrimPrefix(name, "nn.Module: ")
		if i := strings.LastIndexByte(class, '_'); i > 0 && isDigits(class[i+1:]) {
			class = class[:i]
		}
		return token{kind: tokenModule, name: class}
	case strings.HasPrefix(name, "<built-in"):
		return token{kind: tokenBuiltin, name: "?"}
	}
	if file, line, function, ok := splitLocation(name); ok {
		return pythonToken(file, line, function)
	}
	return token{kind: tokenBuiltin, name: name}
}

// pythonToken is the token of a Python function's frame. Some profilers write qualified names.
func pythonToken(file string, line int, function string) token {
	owner, name := splitQualified(function)
	return token{kind: tokenPython, name: name, owner: owner, file: file, line: line}
}

// splitQualified cuts `Outer.f.<locals>.g` into the class or function around and the code object's own name.
func splitQualified(function string) (owner, name string) {
	i := strings.LastIndexByte(function, '.')
	if i < 0 || i == len(function)-1 {
		return "", function
	}
	owner = strings.TrimSuffix(function[:i], ".<locals>")
	if j := strings.LastIndexByte(owner, '.'); j >= 0 {
		owner = owner[j+1:]
	}
	return owner, function[i+1:]
}

// splitLocation reads `file.py(LINE): function`.
func splitLocation(name string) (file string, line int, function string, ok bool) {
	close := strings.Index(name, "): ")
	if close < 0 {
		return "", 0, "", false
	}
	open := strings.LastIndexByte(name[:close], '(')
	if open < 0 {
		return "", 0, "", false
	}
	digits := name[open+1 : close]
	if !isDigits(digits) {
		return "", 0, "", false
	}
	for _, d := range digits {
		line = line*10 + int(d-'0')
	}
	return name[:open], line, name[close+3:], true
}

func isDigits(s string) bool {
	if s == "" || len(s) > 9 {
		return false
	}
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// opToken is the token of a framework operator: `aten::add_` is add_, `c10d::allreduce_` is allreduce_.
func opToken(name string) token {
	if i := strings.LastIndex(name, "::"); i >= 0 {
		name = name[i+2:]
	}
	return token{kind: tokenOp, name: name}
}

// appendKey writes what distinguishes a token from another for the alignment.
func (t *token) appendKey(key []byte) []byte {
	key = append(key, byte(t.kind))
	key = append(append(key, t.name...), 0)
	key = append(append(key, t.owner...), 0)
	if t.name == "<genexpr>" || t.name == "<lambda>" || t.name == "<listcomp>" || t.name == "<setcomp>" || t.name == "<dictcomp>" {
		// Anonymous functions are told apart by where they stand.
		key = append(key, t.file...)
		key = appendInt(append(key, 0), t.line)
	}
	key = appendInt(key, t.callLine)
	for _, n := range t.inside {
		key = append(append(key, 1), n...)
	}
	return append(key, 0xff)
}

func appendInt(key []byte, n int) []byte {
	return append(key, byte(n), byte(n>>8), byte(n>>16), byte(n>>24))
}
