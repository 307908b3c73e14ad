"""Write one Hugging Face folder that MusicgenForConditionalGeneration.from_pretrained loads."""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

import sentencepiece
import torch
from transformers import EncodecFeatureExtractor, EncodecModel, GenerationConfig, MusicgenConfig
from transformers import MusicgenForConditionalGeneration, MusicgenProcessor, T5Tokenizer

from .codec import codec_config
from .language_model import LanguageModel

NOTICE = Path(__file__).with_name("MODEL_CARD.md")


def assemble(codec: Path, decoder: Path | None, lm: Path, pieces: int, filters: int) -> MusicgenForConditionalGeneration:
    """The whole model from the checkpoints; `decoder` is a codec checkpoint of phase decoder, if any."""
    audio_encoder = EncodecModel(codec_config(filters))
    audio_encoder.load_state_dict(torch.load(codec)["model"])
    if decoder is not None and decoder.exists():
        refined = torch.load(decoder)["model"]
        for name, value in audio_encoder.state_dict().items():
            if not name.startswith("decoder.") and not torch.equal(value, refined[name]):
                raise ValueError(f"{decoder} is not a refinement of {codec}: {name} differs")
        audio_encoder.load_state_dict(refined)
    trained = LanguageModel(pieces)
    trained.load_state_dict(torch.load(lm)["model"])
    config = MusicgenConfig(text_encoder=trained.text_encoder.config, audio_encoder=audio_encoder.config,
                            decoder=trained.decoder.config)  # fmt: skip
    model = MusicgenForConditionalGeneration(config, trained.text_encoder, audio_encoder, trained.decoder)
    model.enc_to_dec_proj.load_state_dict(trained.enc_to_dec_proj.state_dict())
    return model.eval().float()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--codec", type=Path, required=True)
    parser.add_argument("--decoder", type=Path, help="codec checkpoint of phase decoder")
    parser.add_argument("--lm", type=Path, required=True)
    parser.add_argument("--tokenizer", type=Path, required=True, help="spiece.model")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--filters", type=int, default=16)
    parser.add_argument("--guidance", type=float, default=3.0)
    parser.add_argument("--top-k", type=int, default=50)
    parser.add_argument("--temperature", type=float, default=1.0)
    args = parser.parse_args()
    pieces = len(sentencepiece.SentencePieceProcessor(model_file=str(args.tokenizer)))
    model = assemble(args.codec, args.decoder, args.lm, pieces, args.filters)
    special = model.config.decoder.vocab_size
    model.generation_config = GenerationConfig(
        do_sample=True, guidance_scale=args.guidance, top_k=args.top_k, temperature=args.temperature, max_length=504,
        bos_token_id=special, pad_token_id=special, decoder_start_token_id=special,
    )  # fmt: skip
    args.out.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(args.out)
    shutil.copy(args.tokenizer, args.out / "spiece.model")
    tokenizer = T5Tokenizer.from_pretrained(args.out, extra_ids=0, model_max_length=512)
    extractor = EncodecFeatureExtractor(feature_size=1, sampling_rate=32_000)
    MusicgenProcessor(extractor, tokenizer).save_pretrained(args.out)
    shutil.copy(args.tokenizer, args.out / "spiece.model")  # the same bytes, whatever was written above
    if NOTICE.exists():
        shutil.copy(NOTICE, args.out / "README.md")
    parameters = sum(p.numel() for p in model.parameters()) + sum(
        layer.codebook.embed.numel() for layer in model.audio_encoder.quantizer.layers
    )
    print(f"{args.out}: {parameters / 1e6:.2f} M parameters, {2 * parameters / 1e6:.1f} MB at f16")


if __name__ == "__main__":
    main()
