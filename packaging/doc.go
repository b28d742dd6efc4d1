// Command packaging builds what a release holds: for each platform an archive, a Python wheel and a bill of materials.
//
//	go run ./packaging -version v1.2.3 -targets linux/amd64,windows/arm64 -out dist
//
// scripts/release.sh calls it, adds the VS Code extension and the checksums.
//
// The binaries are static (cgo is off), so that every platform is built from any other. With the same version, Go and
// SOURCE_DATE_EPOCH the same bytes come out: paths are trimmed, times in archives are the epoch, entries are in order.
//
//	main.go      the command line; what is built for a platform
//	build.go     platforms and `go build`
//	archive.go   .tar.gz and .zip with the binary, manual pages, completions
//	wheel.go     the wheel: the binary as a script, and the Python modules (python/stepline, traceindex/recorder/python)
//	pep440.go    `git describe` as Python writes versions
//	sbom.go      CycloneDX from the modules that the linker wrote into the binary
//
// Archives carry no code of the packages below; the binary built here writes its own manual pages and completions.
package main
