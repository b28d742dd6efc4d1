// Package capture holds the capture templates of `stepline templates` and `stepline template NAME`: for each kind of question
// the profiler settings or command lines that answer it, why, what they cost, and how to load the result.
//
// A template is one TOML file under templates/, embedded in the binary. Its shell command and Python snippet hold settings as
// <<name>>, each with a default. Tests run every Python snippet on a CPU torch and parse every shell command.
//
// cmd imports this package; it imports nothing of stepline.
package capture
