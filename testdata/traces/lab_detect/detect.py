"""A small anchor detector with matching, mining and suppression written out in Python."""
import itertools
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


def conv(cin, cout, stride=1):
    return nn.Sequential(
        nn.Conv2d(cin, cout, 3, stride, 1, bias=False),
        nn.BatchNorm2d(cout),
        nn.ReLU(inplace=True),
    )


class Residual(nn.Module):
    def __init__(self, cin, cout, stride):
        super().__init__()
        self.first = conv(cin, cout, stride)
        self.second = nn.Sequential(nn.Conv2d(cout, cout, 3, 1, 1, bias=False), nn.BatchNorm2d(cout))
        self.skip = nn.Conv2d(cin, cout, 1, stride) if stride > 1 or cin != cout else None

    def forward(self, x):
        y = self.second(self.first(x))
        if self.skip is not None:
            x = self.skip(x)
        y += x
        return F.relu(y, inplace=True)


class Backbone(nn.Module):
    def __init__(self, widths=(32, 64, 128, 256)):
        super().__init__()
        self.stem = conv(3, widths[0], 2)
        pairs = zip(widths, widths[1:])
        self.stages = nn.ModuleList([Residual(a, b, 2) for a, b in pairs])

    def forward(self, x):
        features = []
        x = self.stem(x)
        for i, stage in enumerate(self.stages):
            x = stage(x)
            if i >= 1:
                features.append(x)
        return features


class Pyramid(nn.Module):
    def __init__(self, widths, dim):
        super().__init__()
        self.lateral = nn.ModuleList(nn.Conv2d(w, dim, 1) for w in widths)
        self.smooth = nn.ModuleList(nn.Conv2d(dim, dim, 3, padding=1) for _ in widths)

    def forward(self, features):
        outs = [lateral(f) for lateral, f in zip(self.lateral, features)]
        for i in range(len(outs) - 1, 0, -1):
            up = F.interpolate(outs[i], size=outs[i - 1].shape[-2:], mode="nearest")
            outs[i - 1] = outs[i - 1] + up
        return [smooth(o) for smooth, o in zip(self.smooth, outs)]


class Head(nn.Module):
    def __init__(self, dim, anchors, classes):
        super().__init__()
        self.tower = conv(dim, dim)
        self.classify = nn.Conv2d(dim, anchors * classes, 3, padding=1)
        self.regress = nn.Conv2d(dim, anchors * 4, 3, padding=1)
        self.classes = classes

    def forward(self, levels):
        scores, boxes = [], []
        for level in levels:
            h = self.tower(level)
            for head, out, width in ((self.classify, scores, self.classes), (self.regress, boxes, 4)):
                y = head(h).permute(0, 2, 3, 1)
                out.append(y.reshape(y.shape[0], -1, width))
        return torch.cat(scores, dim=1), torch.cat(boxes, dim=1)


def anchors_for(levels, image, sizes=(0.5, 1.0, 2.0)):
    found = []
    for level in levels:
        height, width = level.shape[-2:]
        stride = image / height
        ys, xs = torch.meshgrid(
            torch.arange(height, device=level.device), torch.arange(width, device=level.device), indexing="ij"
        )
        centre = torch.stack((xs, ys, xs, ys), dim=-1).float().add(0.5).mul(stride)
        for ratio in sizes:
            w, h = 4 * stride * math.sqrt(ratio), 4 * stride / math.sqrt(ratio)
            offset = centre.new_tensor([-w, -h, w, h]) / 2
            found.append((centre + offset).view(-1, 4))
    return torch.cat(found)


def iou(a, b):
    top = torch.maximum(a[:, None, :2], b[None, :, :2])
    low = torch.minimum(a[:, None, 2:], b[None, :, 2:])
    inter = (low - top).clamp(min=0).prod(dim=-1)
    area_a = (a[:, 2:] - a[:, :2]).prod(-1)
    area_b = (b[:, 2:] - b[:, :2]).prod(-1)
    return inter / (area_a[:, None] + area_b[None] - inter + 1e-6)


def encode(anchors, boxes):
    size = anchors[:, 2:] - anchors[:, :2]
    shift = (boxes[:, :2] + boxes[:, 2:] - anchors[:, :2] - anchors[:, 2:]) / 2 / size
    scale = ((boxes[:, 2:] - boxes[:, :2]) / size).log()
    return torch.cat([shift, scale], dim=-1)


class Matcher:
    def __init__(self, high=0.5, low=0.4):
        self.high, self.low = high, low

    def __call__(self, anchors, boxes):
        if len(boxes) == 0:
            return torch.full((len(anchors),), -1, device=anchors.device)
        overlap = iou(anchors, boxes)
        best, index = overlap.max(dim=1)
        index = torch.where(best < self.high, torch.full_like(index, -2), index)
        index[best < self.low] = -1
        for box in range(len(boxes)):
            nearest = overlap[:, box].argmax()
            index[nearest] = box
        return index


def focal(scores, target, gamma=2.0, alpha=0.25):
    p = torch.sigmoid(scores)
    ce = F.binary_cross_entropy_with_logits(scores, target, reduction="none")
    near = p * target + (1 - p) * (1 - target)
    weight = alpha * target + (1 - alpha) * (1 - target)
    return weight * (1 - near) ** gamma * ce


class Criterion(nn.Module):
    def __init__(self, classes, matcher):
        super().__init__()
        self.classes, self.matcher = classes, matcher

    def forward(self, scores, deltas, anchors, truth):
        class_loss, box_loss, positives = [], [], 0
        for score, delta, target in zip(scores, deltas, truth):
            index = self.matcher(anchors, target["boxes"])
            positive = index >= 0
            wanted = torch.zeros_like(score)
            count = int(positive.sum())
            if count:
                labels = target["labels"][index[positive]]
                wanted[positive, labels] = 1.0
                goal = encode(anchors[positive], target["boxes"][index[positive]])
                box_loss.append(F.smooth_l1_loss(delta[positive], goal, beta=0.1, reduction="sum"))
            else:
                box_loss.append(delta.sum() * 0)
            keep = index != -2
            class_loss.append(focal(score[keep], wanted[keep]).sum())
            positives += count
        norm = max(positives, 1)
        return torch.stack(class_loss).sum() / norm, torch.stack(box_loss).sum() / norm


def suppress(boxes, scores, limit=8, threshold=0.5):
    kept = []
    order = scores.argsort(descending=True)[:32]
    while order.numel() > 0 and len(kept) < limit:
        first, order = order[0], order[1:]
        kept.append(first)
        if order.numel() == 0:
            break
        overlap = iou(boxes[first][None], boxes[order])[0]
        order = order[overlap <= threshold]
    return torch.stack(kept)


class Detector(nn.Module):
    def __init__(self, classes=20, dim=64):
        super().__init__()
        self.backbone = Backbone()
        self.pyramid = Pyramid((128, 256), dim)
        self.head = Head(dim, 3, classes)
        self.criterion = Criterion(classes, Matcher())

    def forward(self, images, truth=None):
        levels = self.pyramid(self.backbone(images))
        scores, deltas = self.head(levels)
        anchors = anchors_for(levels, images.shape[-1])
        if truth is not None:
            return self.criterion(scores, deltas, anchors, truth)
        best = scores.sigmoid().amax(dim=-1)
        return [suppress(anchors, row) for row in best]


def fake(batch, size, classes):
    images = torch.rand(batch, 3, size, size)
    truth = []
    for count in itertools.islice(itertools.cycle((2, 0, 3)), batch):
        low = torch.rand(count, 2) * size / 2
        high = low + 16 + torch.rand(count, 2) * (size / 2 - 16)
        truth.append({"boxes": torch.cat([low, high], 1), "labels": torch.randint(classes, (count,))})
    return images, truth


def to_device(value, device):
    match value:
        case torch.Tensor():
            return value.to(device)
        case dict():
            return {key: to_device(item, device) for key, item in value.items()}
        case list() | tuple():
            return type(value)(to_device(item, device) for item in value)
        case _:
            return value


def main():
    torch.manual_seed(0)
    model = Detector().cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9, nesterov=True)
    for step in range(6):
        images, truth = to_device(fake(3, 256, 20), "cuda")
        try:
            class_loss, box_loss = model(images, truth)
            loss = class_loss + box_loss
            if not math.isfinite(loss.item()):
                raise ValueError("loss")
        except ValueError:
            continue
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 2 == 1:
            model.eval()
            with torch.inference_mode():
                found = model(images)
            model.train()
            print(step, [len(f) for f in found], flush=True)


if __name__ == "__main__":
    main()
