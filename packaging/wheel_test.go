package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/csv"
	"encoding/json"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

var stamp = time.Date(2026, 1, 2, 3, 4, 6, 0, time.UTC)

func sampleWheel(t *testing.T, p platform) (wheel, []byte) {
	t.Helper()
	modules, err := wheelModules("..")
	if err != nil {
		t.Fatal(err)
	}
	w := wheel{version: "1.2.3.post5+gabc1234", platform: p, program: []byte("#!/bin/sh\necho program\n"), modules: modules}
	var out bytes.Buffer
	if err := w.write(&out, stamp); err != nil {
		t.Fatal(err)
	}
	return w, out.Bytes()
}

func unzip(t *testing.T, data []byte) (names []string, contents map[string][]byte, modes map[string]os.FileMode) {
	t.Helper()
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	contents, modes = map[string][]byte{}, map[string]os.FileMode{}
	for _, file := range archive.File {
		reader, err := file.Open()
		if err != nil {
			t.Fatal(err)
		}
		if contents[file.Name], err = io.ReadAll(reader); err != nil {
			t.Fatal(err)
		}
		if !file.Modified.Equal(stamp) {
			t.Errorf("%s has the time %v", file.Name, file.Modified)
		}
		names, modes[file.Name] = append(names, file.Name), file.Mode()
	}
	return names, contents, modes
}

// TestWheels: each platform's wheel lists every file in RECORD with its hash and size, as PEP 376 and 427 have it.
func TestWheels(t *testing.T) {
	for _, p := range platforms {
		w, data := sampleWheel(t, p)
		names, contents, modes := unzip(t, data)
		info := "stepline-" + w.version + ".dist-info/"
		if names[len(names)-1] != info+"RECORD" {
			t.Errorf("%s: the last entry is %s", p, names[len(names)-1])
		}
		rows, err := csv.NewReader(bytes.NewReader(contents[info+"RECORD"])).ReadAll()
		if err != nil || len(rows) != len(names) {
			t.Fatalf("%s: RECORD has %d rows for %d files: %v", p, len(rows), len(names), err)
		}
		for i, row := range rows {
			content, found := contents[row[0]]
			sum := sha256.Sum256(content)
			switch {
			case !found || row[0] != names[i]:
				t.Errorf("%s: RECORD names %s where the wheel has %s", p, row[0], names[i])
			case row[0] == info+"RECORD":
				if row[1] != "" || row[2] != "" {
					t.Errorf("%s: RECORD has a hash of itself", p)
				}
			case row[1] != "sha256="+base64.RawURLEncoding.EncodeToString(sum[:]) || row[2] != strconv.Itoa(len(content)):
				t.Errorf("%s: RECORD has another hash or size of %s", p, row[0])
			}
		}
		program := "stepline-" + w.version + ".data/scripts/" + p.program()
		if !bytes.Equal(contents[program], w.program) || modes[program].Perm() != 0o755 {
			t.Errorf("%s: the program is wrong, mode %v", p, modes[program])
		}
		for _, name := range []string{"stepline/__init__.py", "stepline/__main__.py", "stepline_watch.py", "stepline_recorder.py"} {
			if contents[name] == nil {
				t.Errorf("%s: no %s", p, name)
			}
		}
		if contents["sitecustomize.py"] != nil || !bytes.Contains(contents["stepline/__init__.py"], []byte(`__version__ = "`+w.version+`"`)) {
			t.Errorf("%s: a sitecustomize that runs everywhere, or no version", p)
		}
		// The tags in the name, expanded, are those in WHEEL.
		tags := strings.Split(strings.TrimSuffix(w.fileName(), ".whl"), "-py3-none-")[1]
		for tag := range strings.SplitSeq(tags, ".") {
			if !strings.Contains(string(contents[info+"WHEEL"]), "Tag: py3-none-"+tag+"\n") {
				t.Errorf("%s: WHEEL lacks %s", p, tag)
			}
		}
		if metadata := string(contents[info+"METADATA"]); !strings.HasPrefix(metadata, "Metadata-Version: 2.1\nName: stepline\nVersion: "+w.version+"\n") {
			t.Errorf("%s: METADATA %q", p, metadata)
		}
		if _, again := sampleWheel(t, p); !bytes.Equal(data, again) {
			t.Errorf("%s: the same wheel twice differs", p)
		}
	}
}

func TestArchives(t *testing.T) {
	entries := []entry{{"stepline", 0o755, []byte("program")}, {"man/man1/stepline.1", 0o644, []byte(".TH")}}
	var tgz, zipped bytes.Buffer
	if err := writeTarGz(&tgz, "stepline-1-linux-amd64", entries, stamp); err != nil {
		t.Fatal(err)
	}
	if err := writeZip(&zipped, "stepline-1-windows-amd64", entries, stamp); err != nil {
		t.Fatal(err)
	}
	names, contents, modes := unzip(t, zipped.Bytes())
	if len(names) != 2 || string(contents["stepline-1-windows-amd64/stepline"]) != "program" || modes["stepline-1-windows-amd64/stepline"].Perm() != 0o755 {
		t.Errorf("zip: %v", names)
	}
	plain, err := gzip.NewReader(&tgz)
	if err != nil {
		t.Fatal(err)
	}
	archive := tar.NewReader(plain)
	for _, want := range entries {
		header, err := archive.Next()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(archive)
		if err != nil || header.Name != "stepline-1-linux-amd64/"+want.path || header.Mode != int64(want.mode) || !bytes.Equal(data, want.data) || !header.ModTime.Equal(stamp) {
			t.Errorf("tar: %+v, %v", header, err)
		}
	}
	if _, err := archive.Next(); err != io.EOF {
		t.Errorf("tar: %v", err)
	}
}

// TestBill makes the bill of this test binary, which the linker noted its modules in as well.
func TestBill(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := writeBill(&out, self, "v1.2.3", stamp); err != nil {
		t.Fatal(err)
	}
	var bill struct {
		BOMFormat, SerialNumber string
		Metadata                struct {
			Timestamp string
			Component struct{ Name, Version string }
		}
		Components []struct {
			Name, Version, PURL string
			Hashes              []struct{ Alg, Content string }
		}
	}
	if err := json.Unmarshal(out.Bytes(), &bill); err != nil {
		t.Fatal(err)
	}
	if bill.BOMFormat != "CycloneDX" || bill.Metadata.Component.Version != "1.2.3" || bill.Metadata.Timestamp != "2026-01-02T03:04:06Z" {
		t.Errorf("%+v", bill.Metadata)
	}
	found := map[string]bool{}
	for _, c := range bill.Components {
		found[c.Name] = c.PURL == "pkg:golang/"+c.Name+"@"+c.Version && (c.Name == "std" || len(c.Hashes) == 1 && len(c.Hashes[0].Content) == 64)
	}
	if !found["std"] || !found["github.com/CycloneDX/cyclonedx-go"] {
		t.Errorf("components %v", found)
	}
	if err := writeBill(io.Discard, "wheel.go", "v1", stamp); err == nil {
		t.Error("a bill of a file that is no binary")
	}
}

func TestPlatforms(t *testing.T) {
	chosen, err := parsePlatforms("linux/arm64,windows/amd64")
	if err != nil || len(chosen) != 2 || chosen[1].program() != "stepline.exe" {
		t.Errorf("%v, %v", chosen, err)
	}
	if _, err := parsePlatforms("linux/amd64,plan9/386"); err == nil || !strings.Contains(err.Error(), "plan9/386") {
		t.Errorf("%v", err)
	}
}
