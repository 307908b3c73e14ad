#include "library/reference_prompts.h"

#include <algorithm>

namespace continuo::library {

namespace {

// Written for this purpose: styles, instruments, moods, tempi, uses and lengths as people type them. What they have in common is
// what fingerprints have in common without being alike, so the list should stay broad. A change makes saved indexes invalid.
constexpr std::string_view lines = R"(ambient
techno
lofi
jazz
rock
classical
house music
piano
guitar solo
drums
orchestra
sad song
happy music
something calm
fast and loud
music for a video
an ambient piece with long synthesizer pads and distant bells
slow lofi beat, dusty drums, warm keys, 72 bpm
hard techno, 140 bpm, distorted kick, no melody
acid techno with squelching bass
detroit techno with strings and a simple groove
deep house with a female vocal sample and rhodes chords
tropical house with marimba, sunny, 110 bpm
french house, filtered disco loop
melodic techno with a plucked arpeggio building slowly
hard trance from the nineties
liquid drum and bass with piano and soft pads, 174 bpm
jungle with amen breaks
neurofunk, dark, metallic bass
uk garage with shuffled hats
grime beat, cold square bass
future bass with bright chords
hardstyle with screaming lead
gabber, 180 bpm
glitch, broken rhythm and clicks
idm with complex drums and gentle melody
electro with vocoder
italo disco with sequenced bass
space disco
hi-nrg, 130 bpm
chillout lounge with saxophone
downtempo with sitar sample
trip hop, smoky, upright bass
boom bap with scratched hook
drill beat with sliding 808
phonk with cowbell, aggressive
west coast g-funk with a whistling synth
jazz rap instrumental with muted trumpet
old school electro hip hop
cloud rap beat, airy and slow
soulful beat with chopped strings
neo soul with lush chords and a laid-back drummer
motown style groove with tambourine
philly soul with strings and horns
funk guitar and clavinet, tight drums, 108 bpm
go-go with congas
disco, four on the floor, string stabs
classic rhythm and blues with piano triplets
doo-wop without voices
delta blues on a slide guitar
chicago blues with harmonica and shuffle drums
texas shuffle
blues piano alone late at night
rock and roll, 1956, slapback echo
surf instrumental with twangy guitar
psychedelic rock with organ and fuzz
folk rock with twelve string guitar
southern rock with two lead guitars
arena rock anthem, big drums
glam rock stomp
heavy riff in drop d, slow
thrash metal, palm muted, 200 bpm
black metal with tremolo guitars, cold
doom metal, very slow, very heavy
power metal, galloping, heroic
nu metal with scratching
metalcore breakdown
hardcore punk, one minute, angry
pop punk, bright, fast, three chords
ska punk with trombone
new wave with chorus bass
gothic rock, deep bass line, drum machine
dream pop with shimmering guitars
indie rock with jangly guitars and handclaps
britpop with acoustic strumming
emo with clean twinkling guitar
math rock in seven
post rock, quiet to loud
noise, harsh and static
drone of guitars with feedback
country waltz with steel guitar
honky tonk with piano
bluegrass with mandolin, banjo and fiddle at 150 bpm
western swing
americana, dusty road, acoustic and brushes
irish reel with fiddle and bodhran
scottish bagpipes, slow air
sea song with concertina
english folk with recorder
nordic folk with nyckelharpa, dark
balkan brass, fast, odd metre
greek bouzouki, lively
turkish saz with darbuka
klezmer band at a wedding
russian balalaika ensemble
polish mazurka for piano
viennese waltz for orchestra
bavarian brass band
french musette accordion in a small street
spanish guitar with castanets
portuguese guitar, longing
argentine tango for violin and piano
cuban son with tres and trumpet
mambo with big brass
merengue with accordion and guira
cumbia with gaita flutes
samba school, many drums
bossa nova, whispering guitar, soft shaker
mariachi with trumpets and violins
andean flutes and charango
calypso with steel pan
roots reggae with deep bass and melodica
dancehall riddim
dub with tape echo and spring reverb
highlife guitars, bright
desert blues with electric guitar and calabash
kora alone, gentle
mbira pattern, repeating
afro drum ensemble, polyrhythms
ethio jazz with vibraphone
gnawa with bass lute and iron castanets
egyptian strings with tabla
persian santur, meditative
indian bansuri with tanpura
bollywood dance with dhol
gamelan, bronze, shimmering
chinese guzheng by the water
pipa, fast and virtuosic
japanese shakuhachi in an empty hall
taiko drums, thunderous
korean gayageum, slow
tuvan style low drone with fiddle
didgeridoo and clapsticks
ragtime for player piano
dixieland band in a parade
swing orchestra, 1940, clarinet solo
bebop quintet, very fast
cool trumpet with mute and brushes
modal jazz, two chords, tenor saxophone
hard bop with bluesy horns
organ trio, groovy
gypsy jazz, two guitars and violin
jazz waltz for piano trio
fusion with electric piano and fretless bass
smooth guitar with soft drums
free improvisation for saxophone and drums
vocal jazz backing, slow, bass and piano
gregorian mood, low voices in a cathedral
renaissance dance with shawms
lute and viol, courtly
baroque suite for strings and continuo
harpsichord toccata
trumpet and organ, festive
classical symphony in the style of the 1780s
string trio, elegant
romantic piano nocturne
virtuoso violin with orchestra
symphonic storm with timpani
late romantic adagio for strings
impressionist harp, flute and viola
ballet music with celesta
twelve tone piece for piano
minimalist marimbas in patterns
minimalist piano, repeating figures
string orchestra, tense ostinato
brass fanfare
wind quintet, playful
solo bassoon, comic
solo violin, lonely
solo clarinet in a forest
cello duet, dark
bass clarinet and vibraphone, mysterious
organ fugue
choir without words, floating
children's choir with bells
music box winding down
toy piano and glockenspiel, naive
pizzicato strings sneaking around
tuba and xylophone, slapstick
chase scene with percussion
heist with bongos and bass flute
space battle for full orchestra
hero returns, horns and strings
love theme with oboe
funeral with low brass
haunted house with theremin
detective story, noir saxophone
western duel with trumpet
documentary about the ocean, wide pads
nature film, light woodwinds
science video, plucked synths, curious
news opening, urgent
podcast intro, ten seconds, friendly
advertisement with ukulele and whistling
corporate, motivating, muted guitar and piano
sports highlights, powerful drums and synth
fashion show, cool and minimal
wedding, romantic piano and strings
birthday, jolly
christmas with sleigh bells
halloween, creepy organ
summer by the pool
winter night, sparse piano
rainy afternoon with soft electric piano
sunrise with slow strings
driving at night, pulsing synth bass
workout, 150 bpm, energetic
yoga, sitar drone and water
sleep, very soft, no rhythm
focus, steady, without melody
meditation at 60 bpm with gongs
coffee shop, acoustic trio
party, big drop, claps
game menu, calm synth loop
boss fight, fast guitars and choir
platform game, chip melody, cheerful
puzzle game, light mallets
dungeon, dark strings and drips
racing game, rock and electronic drums
victory jingle
game over, descending chip sounds
city at night, 1984, synth brass
computer music from 1978, analog sequences
modular synthesizer, random bleeps
slow arpeggios with tape wobble
granular clouds
field recordings with piano
vinyl noise and a distant band
string pads only
bass and drums only
percussion only, hands
a cappella style harmonies, synthetic
three chords on a strummed guitar
twelve bars of blues in e
a march in c major
a melody in d minor, slow, for flute
in 5/4, piano and bass
140 bpm, dark, no drums
90 bpm, bright, brushed snare
very fast, very short
very slow, very long
loud, distorted, dense
quiet, sparse, dry)";

}  // namespace

std::vector<std::string_view> reference_prompts() {
  std::vector<std::string_view> prompts;
  for (std::size_t at = 0; at < lines.size();) {
    const std::size_t end = std::min(lines.find('\n', at), lines.size());
    prompts.push_back(lines.substr(at, end - at));
    at = end + 1;
  }
  return prompts;
}

}  // namespace continuo::library
