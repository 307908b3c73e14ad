#!/bin/sh
# Everything in order, from nothing to an exported model and its report. See README.md.
#   training/run.sh WORK [CODEC_MINUTES] [LM_MINUTES]
# WORK is a scratch folder (about 1 GB). Run from the repository's root, in the environment of requirements.txt.
set -eu
work=${1:?usage: training/run.sh WORK [CODEC_MINUTES] [LM_MINUTES]}
codec_minutes=${2:-40}
lm_minutes=${3:-75}
soundfont=${SOUNDFONT:-/usr/share/sounds/sf3/FluidR3Mono_GM.sf3}
python=${PYTHON:-python}
mkdir -p "$work"

[ -e "$work/bank.npz" ] || $python -m training.instruments --soundfont "$soundfont" --out "$work/bank.npz"
[ -e "$work/spiece.model" ] || $python -m training.tokenizer --out "$work/spiece.model"

# 1. The codec, all of it. Its encoder and codebooks are final after this.
$python -m training.train_codec --bank "$work/bank.npz" --out "$work/codec" --minutes "$codec_minutes" --resume

# 2. Codes of the songs.
$python -m training.make_codes --bank "$work/bank.npz" --codec "$work/codec/codec.pt" \
    --out "$work/held_out" --songs 64 --seed 7
$python -m training.make_codes --bank "$work/bank.npz" --codec "$work/codec/codec.pt" \
    --out "$work/codes"

# 3. The language model, and beside it the codec's decoder (which leaves the codes as they are).
$python -m training.train_codec --phase decoder --start "$work/codec/codec.pt" --bank "$work/bank.npz" \
    --out "$work/decoder" --minutes "$codec_minutes" --resume --threads 1 --lr 5e-4 &
$python -m training.train_lm --codes "$work/codes" --held-out "$work/held_out" \
    --tokenizer "$work/spiece.model" --out "$work/lm" --minutes "$lm_minutes" --resume
wait

# 4. One Hugging Face folder, and the report's numbers and pictures.
$python -m training.export --codec "$work/codec/codec.pt" --decoder "$work/decoder/codec.pt" --lm "$work/lm/lm.pt" \
    --tokenizer "$work/spiece.model" --out "$work/export"
$python -m training.report --model "$work/export" --bank "$work/bank.npz" --work "$work" --pictures training/pictures
