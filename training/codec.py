"""The codec: Hugging Face's EncodecModel in MusicGen's 32 kHz shape with fewer filters, and what
training needs beside it (initialisation from data, a quantiser that learns, the losses)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import EncodecConfig, EncodecModel

SAMPLE_RATE, HOP = 32_000, 640


def codec_config(filters: int = 16, dimension: int = 64, codebook_size: int = 1024) -> EncodecConfig:
    """Four codebooks at 50 frames a second, not causal, as in MusicGen's codec."""
    bits = (codebook_size - 1).bit_length()
    return EncodecConfig(
        sampling_rate=SAMPLE_RATE, audio_channels=1, upsampling_ratios=[8, 5, 4, 4], num_filters=filters,
        hidden_size=dimension, codebook_dim=dimension, codebook_size=codebook_size, kernel_size=7,
        last_kernel_size=7, residual_kernel_size=3, dilation_growth_rate=2, num_residual_layers=1, compress=2,
        num_lstm_layers=1, use_causal_conv=False, use_conv_shortcut=False, norm_type="weight_norm",
        normalize=False, chunk_length_s=None, pad_mode="reflect", target_bandwidths=[4 * bits * 50 / 1000],
    )  # fmt: skip


@torch.no_grad()
def initialise_from_data(model: EncodecModel, audio: Tensor) -> None:
    """Rescale every convolution so that its output on `audio` [batch, 1, samples] has unit variance.

    The default initialisation shrinks the signal layer by layer to a latent deviation of 0.05, from
    which training does not recover in reasonable time. Residual branches get 0.5, the last layer the
    deviation of the audio; biases become zero.
    """
    targets: dict[nn.Module, float] = {}
    for part in (model.encoder, model.decoder):
        for layer in part.layers:
            if hasattr(layer, "block"):
                targets[layer.block[1].conv], targets[layer.block[3].conv] = 1.0, 0.5
            elif hasattr(layer, "conv"):
                targets[layer.conv] = 1.0
    targets[model.decoder.layers[-1].conv] = float(audio.std())

    def rescale(conv: nn.Module, inputs: tuple[Tensor], output: Tensor) -> Tensor:
        factor = targets[conv] / (output.std() + 1e-8)
        conv.parametrizations.weight.original0.mul_(factor)
        return output * factor

    for conv in targets:
        conv.bias.zero_()
    hooks = [conv.register_forward_hook(rescale) for conv in targets]
    model.decoder(model.encoder(audio))
    for hook in hooks:
        hook.remove()


class Quantiser:
    """Residual vector quantisation with exponential moving averages, acting on the model's own buffers.

    State lives in EncodecEuclideanCodebook.embed / embed_avg / cluster_size, so that the trained model
    is a plain EncodecModel.
    """

    def __init__(self, model: EncodecModel, decay: float = 0.99) -> None:
        self.books = [layer.codebook for layer in model.quantizer.layers]
        self.decay = decay
        self.reservoir: list[Tensor] = [b.embed.clone() for b in self.books]

    @torch.no_grad()
    def initialise(self, latents: Tensor, rounds: int = 12) -> None:
        """k-means on `latents` [vectors, dimension], one codebook after the other on the residual."""
        residual = latents
        for index, book in enumerate(self.books):
            centres = residual[torch.randperm(len(residual))[: book.codebook_size]].clone()
            for _ in range(rounds):
                ids = _nearest(residual, centres)
                counts = torch.bincount(ids, minlength=len(centres)).float()
                sums = torch.zeros_like(centres).index_add_(0, ids, residual)
                centres = torch.where(counts[:, None] > 0, sums / counts.clamp(min=1)[:, None], centres)
                dead = counts == 0
                if dead.any():
                    centres[dead] = residual[torch.randint(len(residual), (int(dead.sum()),))]
            ids = _nearest(residual, centres)
            counts = torch.bincount(ids, minlength=len(centres)).float()
            # As many vectors as an average holds: decay then forgets k-means at its usual pace.
            book.cluster_size.copy_(counts / counts.sum() * 128 / (1 - self.decay))
            book.embed.copy_(centres)
            book.embed_avg.copy_(centres * book.cluster_size[:, None])
            self.reservoir[index] = residual[:4096].clone()
            residual = residual - centres[ids]

    def __call__(self, latents: Tensor, update: bool) -> tuple[Tensor, Tensor, Tensor]:
        """[batch, dimension, frames] -> straight-through quantised, commitment loss, ids [4, batch * frames]."""
        flat = latents.transpose(1, 2).reshape(-1, latents.shape[1])
        residual, total, commitment, ids_all = flat, torch.zeros_like(flat), flat.new_zeros(()), []
        for index, book in enumerate(self.books):
            ids = _nearest(residual.detach(), book.embed)
            chosen = F.embedding(ids, book.embed)
            commitment = commitment + (residual - chosen).pow(2).mean()
            if update:
                self._update(index, residual.detach(), ids)
            total = total + chosen
            residual = residual - chosen
            ids_all.append(ids)
        quantised = flat + (total - flat).detach()
        shape = (latents.shape[0], latents.shape[2], latents.shape[1])
        return quantised.view(shape).transpose(1, 2), commitment, torch.stack(ids_all)

    @torch.no_grad()
    def _update(self, index: int, vectors: Tensor, ids: Tensor) -> None:
        book, decay = self.books[index], self.decay
        counts = torch.bincount(ids, minlength=book.codebook_size).float()
        book.cluster_size.mul_(decay).add_(counts, alpha=1 - decay)
        sums = torch.zeros_like(book.embed).index_add_(0, ids, vectors)
        book.embed_avg.mul_(decay).add_(sums, alpha=1 - decay)
        book.embed.copy_(book.embed_avg / book.cluster_size.clamp(min=1e-4)[:, None])
        self.reservoir[index] = torch.cat([self.reservoir[index], vectors])[-4096:]

    @torch.no_grad()
    def restart_dead(self, share: float = 0.1) -> int:
        """Move codes used less than `share` of the average onto recent vectors; how many."""
        restarted = 0
        for index, book in enumerate(self.books):
            dead = book.cluster_size < share * book.cluster_size.mean()
            count = int(dead.sum())
            if count:
                pool = self.reservoir[index]
                book.embed[dead] = pool[torch.randint(len(pool), (count,))]
                book.cluster_size[dead] = 0.5 * book.cluster_size.mean()
                book.embed_avg[dead] = book.embed[dead] * book.cluster_size[dead, None]
            restarted += count
        return restarted


def _nearest(vectors: Tensor, centres: Tensor) -> Tensor:
    """Euclidean nearest neighbour, computed as EncodecEuclideanCodebook does; ids [vectors]."""
    return (2 * vectors @ centres.t() - centres.pow(2).sum(1)).argmax(dim=1)


def mel_filters(n_fft: int, bands: int, low: float = 20.0, high: float = 12_000.0) -> Tensor:
    """Triangular filters [bands, n_fft / 2 + 1] on the HTK mel scale, each with unit sum."""
    mel = lambda f: 2595 * torch.log10(1 + torch.as_tensor(f) / 700)
    points = 700 * (10 ** (torch.linspace(mel(low), mel(high), bands + 2) / 2595) - 1)
    frequencies = torch.linspace(0, SAMPLE_RATE / 2, n_fft // 2 + 1)
    rising = (frequencies - points[:-2, None]) / (points[1:-1] - points[:-2])[:, None]
    falling = (points[2:, None] - frequencies) / (points[2:] - points[1:-1])[:, None]
    filters = torch.minimum(rising, falling).clamp(min=0)
    return filters / filters.sum(1, keepdim=True).clamp(min=1e-6)


class SpectralLoss(nn.Module):
    """Log-mel distance and spectral convergence, averaged over several window lengths."""

    def __init__(self, sizes: tuple[int, ...] = (2048, 1024, 512, 256)) -> None:
        super().__init__()
        self.sizes = sizes
        for size in sizes:
            self.register_buffer(f"window{size}", torch.hann_window(size))
            self.register_buffer(f"mel{size}", mel_filters(size, min(80, size // 16)))

    def magnitudes(self, audio: Tensor, size: int) -> Tensor:
        """[batch, samples] -> [batch, size / 2 + 1, frames]."""
        spectrum = torch.stft(audio, size, size // 4, window=getattr(self, f"window{size}"), return_complex=True)
        return torch.sqrt(spectrum.real.pow(2) + spectrum.imag.pow(2) + 1e-7)

    def forward(self, output: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """Both [batch, samples]; (log-mel L1 in nepers, spectral convergence)."""
        log_mel, convergence = output.new_zeros(()), output.new_zeros(())
        for size in self.sizes:
            a, b = self.magnitudes(output, size), self.magnitudes(target, size)
            convergence = convergence + ((a - b).pow(2).sum((1, 2)) / b.pow(2).sum((1, 2))).sqrt().mean()
            filters = getattr(self, f"mel{size}")
            log_mel = log_mel + (torch.log(filters @ a + 1e-2) - torch.log(filters @ b + 1e-2)).abs().mean()
        return log_mel / len(self.sizes), convergence / len(self.sizes)


def waveform_loss(output: Tensor, target: Tensor) -> Tensor:
    """L1 of the difference plus L1 of the pre-emphasised difference (which weighs 500 Hz and above)."""
    error = output - target
    return error.abs().mean() + (error[..., 1:] - 0.95 * error[..., :-1]).abs().mean()
