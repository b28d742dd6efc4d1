package pyscan

// File is the immutable model of one Python source file, made by Parse. It may be shared by goroutines freely.
// All positions are byte offsets into Text.
type File struct {
	// Path is the name the caller gave; slash-separated and relative to the workspace where there is one.
	Path string
	// Text is the source exactly as given (BOM and line endings included).
	Text string
	// Module is the top level as a function named "<module>"; Functions[0] is the same.
	Module *Function
	// Functions holds every function, lambda and comprehension scope in source order of their start, Module first.
	Functions []*Function
	// Classes holds every class in source order.
	Classes []*Class
	// Comments are the `# …` comments in source order, without their line breaks.
	Comments []Span
	// SyntaxErrors are the places that do not parse, at most 200, in source order. The rest of the model stands.
	SyntaxErrors []SyntaxError

	// Part tells that the model is of a few definitions of Text alone (see Patch).
	Part bool

	lines     LineTable
	enclosing []int32 // by Function.Index: the function whose source holds it
}

// SyntaxError is a place that does not parse.
type SyntaxError struct {
	Span
	Message string
}

// LineTable maps byte offsets to lines. A line ends with \n, \r\n or a lone \r.
type LineTable struct {
	starts []int
	size   int
}
