"""The nodes of a tree search know their parents and their children: such circles are freed by Python's
collector, now and then, not by the last reference. Memory climbs between two collections, and is back
after each."""

import gc

import torch


class Node:
    def __init__(self, parent: "Node | None") -> None:
        self.parent, self.children = parent, []
        self.state = torch.zeros(256, 1024, device="cuda")
        if parent is not None:
            parent.children.append(self)


def search() -> float:
    root = Node(None)
    for _ in range(6):
        Node(root)
    return len(root.children)


gc.set_threshold(700)
print("children", sum(search() for _ in range(400)))
