#!/bin/sh
# Everything in order, from nothing to an exported model and its report. See README.md.
#   training/run.sh WORK [CODEC_MINUTES] [LM_MINUTES] [REPERTOIRE_MINUTES]
# WORK is a scratch folder (about 1 GB). Run from the repository's root, in the environment of requirements.txt.
set -eu
work=${1:?usage: training/run.sh WORK [CODEC_MINUTES] [LM_MINUTES] [REPERTOIRE_MINUTES]}
codec_minutes=${2:-36}
lm_minutes=${3:-50}
repertoire_minutes=${4:-25}
soundfont=${SOUNDFONT:-/usr/share/sounds/sf3/FluidR3Mono_GM.sf3}
python=${PYTHON:-python}
mkdir -p "$work"

[ -e "$work/bank.npz" ] || $python -m training.instruments --soundfont "$soundfont" --out "$work/bank.npz"
[ -e "$work/spiece.model" ] || $python -m training.tokenizer --out "$work/spiece.model"

# 1. The codec, all of it. Its encoder and codebooks are final after this.
$python -m training.train_codec --bank "$work/bank.npz" --out "$work/codec" --minutes "$codec_minutes" --resume

# 2. Codes: of many songs, and of a small repertoire (one song for every style and tempo).
codes() { $python -m training.make_codes --bank "$work/bank.npz" --codec "$work/codec/codec.pt" "$@"; }
codes --out "$work/held_out" --songs 32 --seed 7
codes --out "$work/codes" --songs 1600
codes --out "$work/repertoire" --repertoire 1 --seed 11

# 3. The language model: first many songs, then the repertoire, with flawed history and many openings.
#    The codec's decoder can go on learning meanwhile; the codes stay as they are.
if [ -n "${REFINE:-}" ]; then
    $python -m training.train_codec --phase decoder --start "$work/codec/codec.pt" --bank "$work/bank.npz" \
        --out "$work/decoder" --minutes "$codec_minutes" --resume --threads 1 --lr 5e-4 &
fi
lm() { $python -m training.train_lm --held-out "$work/held_out" --tokenizer "$work/spiece.model" --muon 0.003 --resume "$@"; }
lm --codes "$work/codes" --out "$work/lm" --minutes "$lm_minutes" --short 0.55
lm --codes "$work/repertoire" --out "$work/lm_repertoire" --start "$work/lm/lm.pt" --minutes "$repertoire_minutes" \
    --batch 3 --warmup 20 --short 0 --from-start --corrupt 0.3 --openings 32
wait

# 4. One Hugging Face folder, and the report's numbers and pictures.
$python -m training.export --codec "$work/codec/codec.pt" --decoder "$work/decoder/codec.pt" --lm "$work/lm_repertoire/lm.pt" \
    --tokenizer "$work/spiece.model" --out "$work/export"
$python -m training.report --model "$work/export" --bank "$work/bank.npz" --work "$work" --pictures training/pictures
