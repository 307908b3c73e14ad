// The official client against a server: node openai_client.cjs URL KEY. Prints a JSON object of what it found.
const { createHash } = require('node:crypto');
const OpenAI = require('openai');

const hash = (buffer) => createHash('sha256').update(buffer).digest('hex');

async function main() {
  const [url, key] = process.argv.slice(2);
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 });
  const ask = { model: 'demo', voice: 'alloy', input: 'warm lofi beat with a soft electric piano', duration: 0.5, seed: 3 };
  const found = {};

  found.models = (await client.models.list()).data.map((model) => model.id);
  found.model = (await client.models.retrieve('demo')).id;

  found.sounds = {};
  for (const response_format of ['wav', 'mp3', 'opus', 'aac', 'flac', 'pcm']) {
    const answer = await client.audio.speech.create({ ...ask, response_format });
    const sound = Buffer.from(await answer.arrayBuffer());
    found.sounds[response_format] = { hash: hash(sound), bytes: sound.length, type: answer.headers.get('content-type') };
  }

  // While it is made.
  const answer = await client.audio.speech.create({ ...ask, duration: 4, response_format: 'wav' });
  const parts = [];
  for await (const part of answer.body) parts.push(part);
  const streamed = Buffer.concat(parts);
  found.streamed = { parts: parts.length, bytes: streamed.length, told: Number(answer.headers.get('content-length')) };

  // An error is one of the client's own kinds.
  for (const [name, wrong] of [['speed', { speed: 2 }], ['model', { model: 'tts-1' }]]) {
    try {
      await client.audio.speech.create({ ...ask, ...wrong });
    } catch (error) {
      found[`wrong_${name}`] = { kind: error.constructor.name, status: error.status, param: error.param, code: error.code };
    }
  }

  // Hanging up in the middle.
  const controller = new AbortController();
  const left = await client.audio.speech.create({ ...ask, duration: 300, response_format: 'wav' }, { signal: controller.signal });
  found.left = left.headers.get('x-job-id');
  const reader = left.body.getReader();
  await reader.read();
  controller.abort();
  await reader.read().catch((error) => (found.aborted = error.name));
  console.log(JSON.stringify(found));
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
