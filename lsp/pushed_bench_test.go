package lsp

import (
	"testing"

	"stepline/lsp/internal/text"
	"stepline/pyscan"
	"stepline/rules"
	"stepline/rules/catalog"
)

// BenchmarkPush writes the push of a 5,000-line file after an edit.
func BenchmarkPush(b *testing.B) {
	source := trainingSource(b, 5000)
	s := &server{}
	s.init()
	s.client.can.TextDocument.PublishDiagnostics.RelatedInformation = true
	d := &document{key: "file:/w/a.py", uri: "file:///w/a.py", path: "a.py", folder: &folder{root: "/w"}, text: text.New(source)}
	whole := &checked{file: pyscan.Parse(d.path, source)}
	project := rules.NewProject([]*pyscan.File{whole.file})
	whole.findings = rules.Run(catalog.All(), rules.Target{File: whole.file, Project: project}, rules.Config{}).Findings
	s.phrased(d, whole)
	edited := &checked{base: whole}
	for i, f := range whole.findings {
		f.Carried = i + 1
		edited.findings = append(edited.findings, f)
	}
	var out []byte
	b.ReportAllocs()
	for b.Loop() {
		out = s.diagnosticsOf(d, edited, out[:0]).out
	}
	b.ReportMetric(float64(len(edited.findings)), "findings")
	b.ReportMetric(float64(len(out)), "bytes")
}
