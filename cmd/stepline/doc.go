// Command stepline is the language server and the command line: flags and wiring over the packages below, no logic of its own.
//
//	main.go        the root command, exit codes, errors, Ctrl-C
//	terminal.go    colour, width, progress bar
//	check.go, lines.go, … one file a command
//
// Every command is a function of its input streams and arguments (run), so that tests call what users call.
// Exit codes: 0 fine, 1 findings or a failed gate, 2 wrong usage or nothing usable, 130 interrupted.
package main
