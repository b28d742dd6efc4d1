package pyscan

// moduleNames is what names mean at the top level of a file.
type moduleNames struct{}

func resolveNames(*File) *moduleNames { return &moduleNames{} }
