// Package dat005 holds the rule DAT005 decode-on-main-path: images, audio or video decoded by the training process.
package dat005

import (
	_ "embed"
	"fmt"
	"strings"

	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is DAT005.
var Rule = &rules.Rule{
	ID:       "DAT005",
	Name:     "decode-on-main-path",
	Summary:  "images, audio or video are decoded by the training process itself",
	Severity: rules.Warning,
	Fix:      rules.NoFix,
	NeedsGPU: true,
	Price:    rules.PriceHost,
	Keeps:    0.4, // four workers leave at best a quarter, and recording Python frames makes decoding look longer than it is
	Page:     page,
	Check:    check,
}

// decoders are functions that decode a file or buffer, by dotted path.
var decoders = map[string]bool{
	"PIL.Image.open": true, "Image.open": true,
	"cv2.imread": true, "cv2.imdecode": true, "cv2.VideoCapture": true,
	"torchvision.io.read_image": true, "torchvision.io.decode_image": true, "torchvision.io.decode_jpeg": true, "torchvision.io.read_video": true,
	"torchvision.io.image.read_image": true, "torchvision.io.image.decode_image": true, "torchvision.datasets.folder.pil_loader": true, "torchvision.datasets.folder.default_loader": true,
	"torchaudio.load": true, "librosa.load": true, "librosa.core.load": true, "soundfile.read": true, "scipy.io.wavfile.read": true,
	"imageio.imread": true, "imageio.v2.imread": true, "imageio.v3.imread": true, "imageio.get_reader": true, "imageio.mimread": true,
	"skimage.io.imread": true, "matplotlib.pyplot.imread": true, "tifffile.imread": true, "rasterio.open": true, "pydicom.dcmread": true, "nibabel.load": true,
	"decord.VideoReader": true, "av.open": true, "jpeg4py.JPEG": true, "simplejpeg.decode_jpeg": true, "SimpleITK.ReadImage": true,
}

func check(p *rules.Pass) {
	if p.InTests() {
		return
	}
	for _, at := range p.CallsWhere(func(path string) bool { return decoders[path] }) {
		if hot := p.Hot(at); hot != nil {
			if p.InEvaluation(at) {
				continue
			}
			p.ReportHot(at, hot, rules.Finding{
				Message: fmt.Sprintf("`%s` decodes on the training process's own path %s: decode in a Dataset whose DataLoader has workers", p.Line(at), hot.When()),
			}, rules.NotPeriodic)
			continue
		}
		item := p.PerItem(at)
		if item == nil || item.Class == nil {
			continue
		}
		for _, l := range p.LoadersOfDataset(item.Class) {
			if !p.SingleProcess(l) || l.ForEvaluation() {
				continue
			}
			proof := "has no workers"
			if w, _ := l.Workers(); w == rules.WorkersUnknown {
				proof = "ran without workers in the trace"
			}
			p.ReportHot(at, item, rules.Finding{
				Message: fmt.Sprintf("`%s` decodes in the training process: the DataLoader at %s %s, so the GPU waits for every %s", p.Line(at), p.PlaceOf(l), proof, what(p.Resolve(at.Call().Func))),
				Related: []rules.Related{{File: l.File, Span: l.Call.Span, Message: "the loader without workers"}},
			}, rules.NotPeriodic)
			break
		}
	}
}

func what(path string) string {
	switch {
	case strings.Contains(path, "ideo") || strings.HasPrefix(path, "av."):
		return "video"
	case strings.Contains(path, "audio") || strings.Contains(path, "librosa") || strings.Contains(path, "sound") || strings.Contains(path, "wav"):
		return "clip"
	}
	return "image"
}
