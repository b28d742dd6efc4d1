from collections import OrderedDict

import torch
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, cin, cout, use_bias):
        super().__init__()
        self.conv1 = nn.Conv2d(cin, cout, 3, padding=1)  # want "self.conv1"
        self.bn1 = nn.BatchNorm2d(cout)
        self.conv2 = nn.Conv2d(cout, cout, 3, padding=1)  # want "self.conv2"
        self.bn2 = nn.BatchNorm2d(cout)
        self.conv3 = nn.Conv2d(cout, cout, 3, bias=False)
        self.bn3 = nn.BatchNorm2d(cout)
        self.conv4 = nn.Conv2d(cout, cout, 3, bias=use_bias)
        self.bn4 = nn.BatchNorm2d(cout)
        self.conv5 = nn.Conv2d(cout, cout, 3)
        self.bn5 = nn.BatchNorm2d(cout)
        self.conv6 = nn.Conv2d(cout, cout, 3)
        self.norm6 = nn.GroupNorm(4, cout)
        self.skip = nn.Conv2d(cin, cout, 1)
        self.stem = nn.Sequential(
            nn.Conv2d(3, cin, 7, stride=2, padding=3),  # want "nn.Conv2d(3, cin, 7"
            nn.BatchNorm2d(cin),
            nn.ReLU(),
            nn.Conv2d(cin, cin, 3),
            nn.ReLU(),
            nn.BatchNorm2d(cin),
            nn.ConvTranspose2d(
                cin,
                cin,
                3,  # the kernel
            ),
        )
        self.named = nn.Sequential(OrderedDict([
            ("conv", nn.Conv1d(8, 8, 3, 1, 0, 1, 1, True)),  # want "nn.Conv1d"
            ("norm", nn.BatchNorm1d(8)),
        ]))
        layers = [nn.Conv2d(cin, cin, 3), nn.BatchNorm2d(cin)]  # want "nn.Conv2d(cin, cin, 3)"
        layers += [nn.Conv2d(cin, cin, 3), nn.ReLU()]
        self.more = nn.Sequential(*layers)
        self.loose = nn.ModuleList([nn.Conv2d(cin, cin, 3), nn.BatchNorm2d(cin)])

    def forward(self, x):
        x = self.stem(x)
        out = F.relu(self.bn1(self.conv1(x)))
        out = self.conv2(out)
        out = self.bn2(out)
        out = self.bn3(self.conv3(out))
        out = self.bn4(self.conv4(out))
        raw = self.conv5(out)
        out = self.bn5(raw) + self.bn5(self.conv5(raw))
        out = self.norm6(self.conv6(out))
        return F.relu(out + self.skip(x))


model = Block(8, 8, True).cuda()
