package rules

import (
	"strings"
	"testing"
)

// TestCanonicalMembers: a path made canonical member by member is the canonical path of the whole.
func TestCanonicalMembers(t *testing.T) {
	for _, path := range []string{
		"torch.utils.data.dataloader.DataLoader", "torch.utils.data.dataset.Subset", "torch.utils.data.distributed.DistributedSampler",
		"torch.nn.parallel.distributed.DistributedDataParallel", "torch.nn.modules.module.Module", "torch.nn.modules.linear.Linear",
		"torch.optim.optimizer.Optimizer", "torch.nn.utils.clip_grad.clip_grad_norm_", "torch.cuda.amp.grad_scaler.GradScaler",
		"torch.cuda.amp.autocast_mode.autocast", "torch.amp.autocast_mode.autocast", "torch.distributed.distributed_c10d.all_reduce",
		"pytorch_lightning.Trainer", "lightning.pytorch.callbacks.ModelCheckpoint", "torch.functional.einsum", "torch.nn.functional.relu",
		"numpy.distributed.module", "torch.distributed.all_reduce",
	} {
		first, rest, _ := strings.Cut(path, ".")
		got := canonical.Replace(first)
		for member := range strings.SplitSeq(rest, ".") {
			got = canonicalMember(got, member)
		}
		if want := canonical.Replace(path); got != want {
			t.Errorf("%s: member by member %s, as a whole %s", path, got, want)
		}
	}
}
