package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"time"
)

// entry is a file of an archive; its path has forward slashes.
type entry struct {
	path string
	mode fs.FileMode
	data []byte
}

// completionFiles are the completion scripts, under the names by which their shells find them.
var completionFiles = []struct{ shell, path string }{
	{"bash", "completions/stepline.bash"}, {"zsh", "completions/_stepline"}, {"fish", "completions/stepline.fish"}, {"powershell", "completions/stepline.ps1"},
}

// sharedFiles are the files of every archive besides the binary: README, manual pages and completions, as the binary writes them.
func sharedFiles(ctx context.Context, stepline, root string, date time.Time) ([]entry, error) {
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		return nil, err
	}
	entries := []entry{{path: "README.md", mode: 0o644, data: readme}}
	for _, file := range completionFiles {
		script, err := output(exec.CommandContext(ctx, stepline, "completion", file.shell))
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry{path: file.path, mode: 0o644, data: script})
	}
	pages, err := os.MkdirTemp("", "stepline-man-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(pages)
	command := exec.CommandContext(ctx, stepline, "man", "--output", pages)
	command.Env = append(os.Environ(), "SOURCE_DATE_EPOCH="+strconv.FormatInt(date.Unix(), 10))
	if _, err := output(command); err != nil {
		return nil, err
	}
	files, err := os.ReadDir(pages) // in the order of their names
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		page, err := os.ReadFile(filepath.Join(pages, file.Name()))
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry{path: "man/man1/" + file.Name(), mode: 0o644, data: page})
	}
	return entries, nil
}

func output(command *exec.Cmd) ([]byte, error) {
	var trouble bytes.Buffer
	command.Stderr = &trouble
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("%v: %w: %s", command.Args[1:], err, bytes.TrimSpace(trouble.Bytes()))
	}
	return out, nil
}

func writeTarGz(w io.Writer, folder string, entries []entry, stamp time.Time) error {
	compressed, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	archive := tar.NewWriter(compressed)
	for _, e := range entries {
		header := &tar.Header{Name: path.Join(folder, e.path), Mode: int64(e.mode), Size: int64(len(e.data)), ModTime: stamp, Typeflag: tar.TypeReg, Format: tar.FormatPAX}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		if _, err := archive.Write(e.data); err != nil {
			return err
		}
	}
	if err := archive.Close(); err != nil {
		return err
	}
	return compressed.Close()
}

// writeZip writes a zip archive whose entries lie in a folder, "" for its top.
func writeZip(w io.Writer, folder string, entries []entry, stamp time.Time) error {
	archive := zip.NewWriter(w)
	archive.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestCompression) })
	for _, e := range entries {
		header := &zip.FileHeader{Name: path.Join(folder, e.path), Method: zip.Deflate, Modified: stamp}
		header.SetMode(e.mode)
		file, err := archive.CreateHeader(header)
		if err != nil {
			return err
		}
		if _, err := file.Write(e.data); err != nil {
			return err
		}
	}
	return archive.Close()
}
