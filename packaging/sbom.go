package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/uuid"
)

// writeBill writes a binary's bill of materials (CycloneDX JSON): the modules that the linker noted in it, and Go's standard
// library, with their package URLs and, as cyclonedx-gomod does, the hashes that go.sum holds them to.
func writeBill(w io.Writer, binary, version string, stamp time.Time) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return err
	}
	program, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(program)
	version = strings.TrimPrefix(version, "v")
	main := cdx.Component{
		BOMRef: "pkg:golang/" + info.Main.Path + "@" + version, Type: cdx.ComponentTypeApplication, Name: "stepline", Version: version,
		Hashes: &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(sum[:])}},
	}
	properties := []cdx.Property{}
	for _, setting := range info.Settings {
		switch setting.Key {
		case "GOOS", "GOARCH", "CGO_ENABLED", "-trimpath":
			properties = append(properties, cdx.Property{Name: "stepline:build:" + strings.TrimPrefix(setting.Key, "-"), Value: setting.Value})
		}
	}
	main.Properties = &properties

	goVersion := strings.TrimPrefix(info.GoVersion, "go")
	components := []cdx.Component{{BOMRef: "pkg:golang/std@" + goVersion, Type: cdx.ComponentTypeLibrary, Name: "std", Version: goVersion, PackageURL: "pkg:golang/std@" + goVersion}}
	for _, dep := range info.Deps {
		component, err := moduleComponent(dep)
		if err != nil {
			return err
		}
		components = append(components, component)
	}
	refs := make([]string, len(components))
	for i, component := range components {
		refs[i] = component.BOMRef
	}
	bom := cdx.NewBOM()
	bom.SerialNumber = "urn:uuid:" + uuid.NewSHA1(uuid.NameSpaceURL, append([]byte(main.BOMRef), sum[:]...)).String() // the same for the same binary
	bom.Metadata = &cdx.Metadata{Timestamp: stamp.Format(time.RFC3339), Component: &main}
	bom.Components = &components
	bom.Dependencies = &[]cdx.Dependency{{Ref: main.BOMRef, Dependencies: &refs}}
	return cdx.NewBOMEncoder(w, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cdx.SpecVersion1_5) // the newest that most readers know
}

func moduleComponent(dep *debug.Module) (cdx.Component, error) {
	if dep.Replace != nil {
		dep = dep.Replace
	}
	address := "pkg:golang/" + dep.Path + "@" + strings.ReplaceAll(dep.Version, "+", "%2B")
	component := cdx.Component{BOMRef: address, Type: cdx.ComponentTypeLibrary, Name: dep.Path, Version: dep.Version, PackageURL: address}
	if dep.Sum == "" { // a module replaced by a folder has none
		return component, nil
	}
	hash, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(dep.Sum, "h1:"))
	if err != nil {
		return component, fmt.Errorf("the sum of module %s: %w", dep.Path, err)
	}
	component.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(hash)}}
	return component, nil
}
