package lsp

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"go.lsp.dev/protocol"
	"go.uber.org/zap"
	"pgregory.net/rapid"

	"stepline/lsp/internal/text"
	"stepline/pyscan"
	"stepline/rules"
)

// TestPushedIsWhatTheProtocolSays: findings are pushed as the protocol's own encoder writes their diagnostics, whatever is in them,
// when they are found and when an edit has moved them.
func TestPushedIsWhatTheProtocolSays(t *testing.T) {
	words := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "a\"b\\c", "\x00\x1f\x7f", "é🙂\u2028", "\xff\xfe", "<&>", "one\r\ntwo\n", "x = 1\n"}))
	outer := t
	rapid.Check(t, func(t *rapid.T) {
		compare := func(s *server, d *document, result *checked) {
			if diff := pushDiffers(outer, s, d, result); diff != "" {
				t.Fatalf("(-protocol +pushed)\n%s", diff)
			}
		}
		s := &server{log: zap.NewNop()}
		s.init()
		s.encoding = rapid.SampledFrom([]text.Encoding{text.UTF16, text.UTF8, text.UTF32}).Draw(t, "encoding")
		s.pulls.Store(rapid.Bool().Draw(t, "pulls"))
		shape := &s.client.can.TextDocument.PublishDiagnostics
		shape.RelatedInformation, shape.CodeDescriptionSupport = rapid.Bool().Draw(t, "related"), rapid.Bool().Draw(t, "pages")

		d := &document{key: "file:/w/a.py", uri: words.Draw(t, "uri"), path: "a.py", version: rapid.Int64().Draw(t, "version"), folder: &folder{root: "/w"}}
		d.folder.settings.DiagnosticsMode = rapid.SampledFrom([]string{"", "costly"}).Draw(t, "mode")
		d.text = text.New(strings.Join(rapid.SliceOf(words).Draw(t, "text"), "\n"))
		own, other := &pyscan.File{Path: "a.py", Text: d.text.String()}, &pyscan.File{Path: "b/é.py", Text: strings.Join(rapid.SliceOf(words).Draw(t, "other"), "\n")}
		span := func(file *pyscan.File) pyscan.Span {
			start := rapid.IntRange(0, len(file.Text)).Draw(t, "start")
			return pyscan.Span{Start: start, End: rapid.IntRange(start, len(file.Text)).Draw(t, "end")}
		}
		finding := func() rules.Finding {
			f := rules.Finding{Rule: &rules.Rule{ID: "SYN001", Name: "n"}, File: own, Span: span(own), Message: words.Draw(t, "message")}
			f.Severity = rules.Severity(rapid.IntRange(0, 4).Draw(t, "severity"))
			f.Verdict = rapid.SampledFrom([]rules.Verdict{rules.VerdictNone, rules.Confirmed, rules.Refuted, rules.NotObserved}).Draw(t, "verdict")
			f.Cost.LowNs, f.Cost.Share = 5_000_000, 0.25
			f.Tags = rapid.SliceOfN(rapid.SampledFrom([]rules.Tag{1, 2}), 0, 2).Draw(t, "tags")
			for range rapid.IntRange(0, 2).Draw(t, "reasons") {
				in := rapid.SampledFrom([]*pyscan.File{own, other}).Draw(t, "in")
				f.Related = append(f.Related, rules.Related{File: in, Span: span(in), Message: words.Draw(t, "why")})
			}
			return f
		}
		whole := &checked{}
		for range rapid.IntRange(0, 3).Draw(t, "findings") {
			whole.findings = append(whole.findings, finding())
		}
		s.phrased(d, whole)
		compare(s, d, whole)

		edited := &checked{base: whole}
		for i, f := range whole.findings {
			f.Span, f.Carried = span(own), i+1
			if rapid.Bool().Draw(t, "names another line") {
				f.Message = words.Draw(t, "message")
			}
			if len(f.Related) > 0 && rapid.Bool().Draw(t, "loses a reason") {
				f.Related = f.Related[1:]
			}
			edited.findings = append(edited.findings, f)
		}
		edited.findings = append(edited.findings, finding())
		s.pulls.Store(rapid.Bool().Draw(t, "pulls now"))
		compare(s, d, edited)
	})
}

// TestPushedWhereTheEditsMovedIt: after edits of functions, in several places and with every kind of line end, findings are pushed
// where the protocol's own types have them.
func TestPushedWhereTheEditsMovedIt(t *testing.T) {
	dir := workspaceOf(t, map[string]string{"gpt.py": "@traces/gpt/gpt.py"})
	source := readText(t, filepath.Join(dir, "gpt.py"))
	source = strings.Replace(source, "loss.backward()", "loss.backward()  # 🙂 é", 1)
	uri := pathURI(filepath.Join(dir, "gpt.py"))
	rapid.Check(t, func(rt *rapid.T) {
		lineEnd := rapid.SampledFrom([]string{"\n", "\r\n", "\r"}).Draw(rt, "line end")
		encoding := rapid.SampledFrom([]string{"utf-8", "utf-16", "utf-32"}).Draw(rt, "encoding")
		lines := rapid.SliceOfN(rapid.IntRange(0, strings.Count(source, "\n")), 1, 12).Draw(rt, "lines")
		typed := rapid.SliceOfN(rapid.SampledFrom([]string{"        # é🙂" + lineEnd, "        x = 1" + lineEnd, lineEnd, "        if step:", " ", "#"}), 12, 12).Draw(rt, "typed")
		trouble := ""
		synctest.Test(t, func(t *testing.T) {
			c := startClient(t, Options{NoWatch: true})
			defer c.quit()
			can := fullCapabilities()
			can["general"] = object{"positionEncodings": []string{encoding}}
			c.initialize(dir, can, object{"autoDiscover": false})
			c.open(uri, strings.ReplaceAll(source, "\n", lineEnd))
			c.published(uri)
			for i := 0; i < len(lines) && trouble == ""; i++ {
				line := lines[i]
				c.change(uri, i+2, object{"range": span(line, 0, line, 0), "text": typed[i]})
				c.published(uri)
				d := c.server.current.Load().documents[documentKey(uri)]
				trouble = pushDiffers(t, c.server, d, d.cell.soonest())
			}
		})
		if trouble != "" {
			rt.Fatalf("(-protocol +pushed)\n%s", trouble)
		}
	})
}

// TestPushedWhereAnEditTouchesTheLine: a place that an edit moves within its line, or to another one, without another length of the
// text before it, is pushed where it is now, and so is one in the file's first line when others have moved up.
func TestPushedWhereAnEditTouchesTheLine(t *testing.T) {
	called := "import torch\n\n\ndef log(t):\n    print(t.item())\n\n\ndef main(loader, model, opt):\n    for x in loader:\n" +
		"        loss = model(x.cuda()); s = \"éabc\"; log(loss)\n        loss.backward()\n        opt.step()\n"
	first := "from torch.utils.data import DataLoader; loader = DataLoader([1])\n\n\ndef train(model):\n    x = 1\n    y = 1\n    for x in loader:\n        model(x.cuda()).backward()\n"
	tests := []struct{ name, source, old, new, reason string }{
		{"of as many bytes and more characters", called, "é", "ab", "called here"},
		{"of as many bytes and fewer characters", called, "éa", "€", "called here"},
		{"that breaks it", called, "s = \"éabc\"; ", "pass\n        ", "called here"},
		{"that takes lines behind the first", first, "    x = 1\n    y = 1\n", "    pass\n", "the loader"},
	}
	for _, test := range tests {
		for _, encoding := range []string{"utf-8", "utf-16", "utf-32"} {
			t.Run(test.name+" "+encoding, func(t *testing.T) {
				session(t, Options{}, func(t *testing.T, c *fakeClient) {
					can := fullCapabilities()
					can["general"] = object{"positionEncodings": []string{encoding}}
					c.initialize("", can, nil)
					uri := "file:///w/a.py"
					c.open(uri, test.source)
					c.published(uri)
					before, behind, found := strings.Cut(test.source, test.old)
					if !found {
						t.Fatalf("no %q", test.old)
					}
					was := text.New(test.source).Range(len(before), len(before)+len(test.old), c.server.encoding)
					c.change(uri, 2, object{"range": wireRange(was), "text": test.new})
					_, list := c.published(uri)
					has := func(d diagnostic) bool {
						return len(d.RelatedInformation) > 0 && d.RelatedInformation[len(d.RelatedInformation)-1].Message == test.reason
					}
					if !slices.ContainsFunc(list, has) {
						t.Errorf("nothing names %q: %v", test.reason, list)
					}
					d := c.server.current.Load().documents[documentKey(uri)]
					if got := d.text.String(); got != before+test.new+behind {
						t.Fatalf("the text is %q", got)
					}
					if result := d.cell.soonest(); result.patch == nil {
						t.Error("the edit was not linted alone")
					} else if diff := pushDiffers(t, c.server, d, result); diff != "" {
						t.Errorf("(-protocol +pushed)\n%s", diff)
					}
				})
			})
		}
	}
}

// pushDiffers compares what is pushed of a document with what the protocol's encoder makes of it; "" for no difference.
func pushDiffers(t testing.TB, s *server, d *document, result *checked) string {
	version := wireVersion(d.version)
	want := protocol.PublishDiagnosticsParams{URI: wireURI(d.uri), Version: protocol.NewOptional(version), Diagnostics: []protocol.Diagnostic{}}
	for i := range result.findings {
		if f := &result.findings[i]; !hidden(d.folder, f) {
			want.Diagnostics = append(want.Diagnostics, s.diagnostic(s.locatorFor(d), d, f))
		}
	}
	slow, err := protocol.Marshal(&want)
	if err != nil {
		t.Fatal(err)
	}
	fast, err := appendJSON(nil, pushed{uri: d.uri, version: &version, write: func(b []byte) []byte { return s.diagnosticsOf(d, result, b).out }})
	if err != nil {
		t.Fatal(err)
	}
	return cmp.Diff(read(t, slow), read(t, fast))
}

func read(t testing.TB, b []byte) (v any) {
	decoder := json.NewDecoder(bytes.NewReader(b))
	decoder.UseNumber()
	if err := decoder.Decode(&v); err != nil {
		t.Fatalf("%v in %s", err, b)
	}
	return v
}
