"""The trainers' work. Each function runs in a process of its own, which gets the
function's name and arguments as JSON, and prints the result as JSON."""

import ctypes
import hashlib
import json
import sys
import time
import warnings

import torch

# Batches that are copied through the host's memory must not be measured.
warnings.filterwarnings("error", message="device=")

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def open_loader(uri, device, dtype="float16", layout="NCHW", batch_size=256,
                size=224, **others):
    import forebay
    from forebay import transforms as T
    ops = [T.RandomResizedCrop(size), T.RandomHorizontalFlip(),
           T.ToImage(layout=layout)]
    if dtype != "uint8":
        ops += [T.ToDtype(dtype, scale=True), T.Normalize(MEAN, STD)]
    return forebay.DataLoader(
        uri, batch_size=batch_size, shuffle=True, seed=1, drop_last=True,
        transform=T.Compose(ops), device=device, **others)


def digest(uri, device, dtype, layout, framework="torch"):
    """Returns the SHA-256 digest of all bytes of an epoch."""
    seen = hashlib.sha256()
    loader = open_loader(uri, device, dtype, layout, batch_size=32, size=64,
                         framework=framework)
    for images, labels in loader:
        for values in (images, labels):
            if framework == "dlpack":
                values = torch.from_dlpack(values)
            seen.update(values.cpu().contiguous().view(torch.uint8).numpy())
    return seen.hexdigest()


def images_per_second(uri, epochs, **arguments):
    """Reads epochs into tensors on the GPU, and returns the images per second."""
    loader = open_loader(uri, "cuda:0", **arguments)
    for _ in loader:
        pass
    torch.cuda.synchronize()
    images, begin = 0, time.perf_counter()
    for _ in range(epochs):
        for batch, _ in loader:
            images += len(batch)
    torch.cuda.synchronize()
    return images / (time.perf_counter() - begin)


def torch_images_per_second(uri, epochs, workers):
    """Does the same by torch's DataLoader and torchvision, pinned, non_blocking."""
    import torchvision
    ops = torchvision.transforms.v2
    data = torchvision.datasets.ImageFolder(uri, ops.Compose([
        ops.RandomResizedCrop(224), ops.RandomHorizontalFlip(), ops.ToImage(),
        ops.ToDtype(torch.float16, scale=True), ops.Normalize(MEAN, STD)]))
    loader = torch.utils.data.DataLoader(
        data, batch_size=256, shuffle=True, drop_last=True, num_workers=workers,
        pin_memory=True, persistent_workers=True)
    images, begin = 0, None
    for epoch in range(epochs + 1):
        if epoch == 1:
            torch.cuda.synchronize()
            images, begin = 0, time.perf_counter()
        for batch, labels in loader:
            batch.to("cuda", non_blocking=True)
            labels.to("cuda", non_blocking=True)
            images += len(batch)
    torch.cuda.synchronize()
    return images / (time.perf_counter() - begin)


def decode_jpeg_images_per_second(uri, rounds):
    """Does the same by torchvision's decoder and transforms on the GPU."""
    import pathlib
    import torchvision
    ops = torchvision.transforms.v2
    files = [torchvision.io.read_file(str(path))
             for path in sorted(pathlib.Path(uri).rglob("*.jpg*"))][:256]
    crop = ops.Compose([ops.RandomResizedCrop(224, antialias=True),
                        ops.RandomHorizontalFlip(),
                        ops.ToDtype(torch.float16, scale=True),
                        ops.Normalize(MEAN, STD)])
    images, begin = 0, None
    for number in range(rounds + 1):
        if number == 1:
            torch.cuda.synchronize()
            images, begin = 0, time.perf_counter()
        decoded = torchvision.io.decode_jpeg(
            files, mode=torchvision.io.ImageReadMode.RGB, device="cuda")
        torch.stack([crop(image) for image in decoded])
        images += len(decoded)
    torch.cuda.synchronize()
    return images / (time.perf_counter() - begin)


def step_ratio(uri, steps):
    """Returns the time of a ResNet-50 step with Forebay's batches / with one fixed
    batch."""
    import torchvision
    model = torchvision.models.resnet50().to(
        "cuda", memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)

    def step(images, labels):
        with torch.autocast("cuda", torch.bfloat16):
            loss = torch.nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    def fed():
        while True:
            for images, labels in loader:
                yield images.permute(0, 3, 1, 2), labels

    loader = open_loader(uri, "cuda:0", "bfloat16", "NHWC", batch_size=256)
    batches = fed()
    kept = next(batches)

    def seconds(source):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(steps):
            step(*source())
        torch.cuda.synchronize()
        return time.perf_counter() - begin

    seconds(lambda: kept)  # warms up
    rounds = [(seconds(lambda: next(batches)), seconds(lambda: kept))
              for _ in range(5)]
    ratios = sorted(ours / resident for ours, resident in rounds)
    return ratios[len(ratios) // 2]


def next_micros(uri):
    """Returns this process's CPU time for next() when a batch is ready."""
    loader = open_loader(uri, "cuda:0", batch_size=64)
    taken = []
    for _ in range(20):
        for batch in loader:
            del batch
            torch.cuda.synchronize()
            time.sleep(0.02)  # waits until the next batch is ready
            break
        batches = iter(loader)
        while True:
            time.sleep(0.02)
            begin = time.thread_time_ns()
            batch = next(batches, None)
            taken.append((time.thread_time_ns() - begin) / 1000)
            if batch is None:
                taken.pop()
                break
    return sorted(taken)[len(taken) // 2]


def kernel_share(uri):
    """Returns the tail kernel's bytes per second / those of a copy on the GPU."""
    from forebay import _batch, _native
    loader = open_loader(uri, "cuda:0", "float16", "NCHW", batch_size=256)
    iter(loader)  # starts an epoch
    view = _batch.View()
    reader = loader._attachment.connection.batch_reader(view.native)
    memory = reader.next()
    while memory.__class__ is int:
        memory = reader.next()
    images = torch.empty((256, 3, 224, 224), dtype=torch.float16, device="cuda")
    stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)

    def rate(work, count, moved):
        work()
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(count):
            work()
        end.record()
        torch.cuda.synchronize()
        return moved * count / (begin.elapsed_time(end) / 1000)

    ours = rate(lambda: _native.check(_native.lib.forebay_batch_put(
        memory.batch, 0, images.data_ptr(), stream)), 200,
        images.numel() * 3)  # the kernel reads one byte and writes two
    other = torch.empty_like(images)
    peer = rate(lambda: other.copy_(images), 200, images.numel() * 4)
    return ours / peer


def read_for_ever(uri):
    loader = open_loader(uri, "cuda:0", batch_size=64)
    while True:
        for batch in loader:
            del batch
            print("read", flush=True)


def read_epoch(uri, epochs):
    """Waits for a line of input, so that several trainers read at the same time."""
    loader = open_loader(uri, "cuda:0", batch_size=32, sharing="lockstep")
    print("open", flush=True)
    sys.stdin.readline()
    return sum(labels.shape[0] for _ in range(epochs) for _, labels in loader)


if __name__ == "__main__":
    print(json.dumps(globals()[sys.argv[1]](**json.loads(sys.argv[2]))))
