package lsp

import (
	"net/url"
	"path"
	"path/filepath"
	"runtime"
	"strings"
)

// A document is known by its key: the URI with everything undone that clients write in different ways (percent-encoding,
// the case of a drive letter, `file://localhost/`). Answers carry the URI as the client wrote it.

// documentKey returns the key of a URI. What is no URI is its own key.
func documentKey(raw string) string {
	if p, ok := uriPath(raw); ok {
		return "file:" + p
	}
	scheme, rest, ok := strings.Cut(raw, ":")
	if !ok {
		return raw
	}
	if plain, err := url.PathUnescape(rest); err == nil {
		rest = plain
	}
	return strings.ToLower(scheme) + ":" + rest
}

// uriPath returns the slash-separated path of a file URI: "/home/x.py", "c:/x.py", "//server/share/x.py".
func uriPath(raw string) (string, bool) {
	scheme, rest, ok := strings.Cut(raw, ":")
	if !ok || !strings.EqualFold(scheme, "file") {
		return "", false
	}
	if i := strings.IndexAny(rest, "?#"); i >= 0 {
		rest = rest[:i]
	}
	host := ""
	if after, slashes := strings.CutPrefix(rest, "//"); slashes {
		host, rest, _ = strings.Cut(after, "/")
		rest = "/" + rest
	}
	if plain, err := url.PathUnescape(rest); err == nil {
		rest = plain
	}
	if strings.ContainsRune(rest, 0) || !strings.HasPrefix(rest, "/") {
		return "", false
	}
	rest = path.Clean(strings.ReplaceAll(rest, `\`, "/"))
	if isDrive(rest) { // /C:/x.py
		rest = strings.ToLower(rest[1:2]) + rest[2:]
	}
	if host != "" && !strings.EqualFold(host, "localhost") {
		return "//" + strings.ToLower(host) + rest, true
	}
	return rest, true
}

// isDrive recognises "/C:" and "/C:/…".
func isDrive(p string) bool {
	return len(p) >= 3 && p[0] == '/' && p[2] == ':' && (p[1]|0x20) >= 'a' && (p[1]|0x20) <= 'z' && (len(p) == 3 || p[3] == '/')
}

// keyPath is the slash path of a file document's key.
func keyPath(key string) (string, bool) { return strings.CutPrefix(key, "file:") }

// osPath is the path of this machine for a slash path.
func osPath(slash string) string { return filepath.FromSlash(slash) }

// pathURI makes the file URI of a path of this machine.
func pathURI(osPath string) string {
	p := filepath.ToSlash(osPath)
	if runtime.GOOS == "windows" && len(p) > 1 && p[1] == ':' {
		p = "/" + p
	}
	host := ""
	if unc, ok := strings.CutPrefix(p, "//"); ok {
		host, p, _ = strings.Cut(unc, "/")
		p = "/" + p
	}
	u := url.URL{Scheme: "file", Host: host, Path: p}
	return u.String()
}

// relativeTo is the path below root with slashes, and whether it lies there.
func relativeTo(root, p string) (string, bool) {
	if root == p {
		return ".", true
	}
	rest, ok := strings.CutPrefix(p, strings.TrimSuffix(root, "/")+"/")
	return rest, ok && rest != ""
}
