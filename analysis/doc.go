// Package analysis wires the pieces that answer a user's question: settings, the workspace's Python files, the lint rules, and
// a trace with its costs per line, its diagnosis and its prices. The command line and the language server both stand on it, so
// that CI and editor say the same; it decides nothing about presentation and knows no protocol.
//
// The story of a question:
//
//	w, err := analysis.Open(ctx, root, settings)          // reads no file yet
//	checked, err := w.Check(ctx, paths, loaded.RuleCosts()) // lint; priced with a trace, nil without
//	loaded, err := w.LoadTrace(ctx, traces, options)      // read, attribute, diagnose; immutable once returned
//
// LoadSettings reads stepline.toml or [tool.stepline] of pyproject.toml; errors name file, key and line, and every other
// setting of the file still holds.
//
// CheckRemembered is Check for a command line: an unchanged workspace's findings come from the user's cache folder, under a hash
// of all they rest on.
//
// Inputs that are no traces (Nsight Compute reports, NCCL logs, memory snapshots) are joined to the lines at load
// (Loaded.Beside), in the words of report.
//
// Who may import it: cmd/stepline and lsp. It imports report, rules, pyscan, traceindex and its readers, rankset, attribute and
// diagnose; it never imports lsp or cmd.
package analysis
