/* Assembles the page and shows the server's state. */
import { byId } from './dom.js';
import { plural } from './format.js';
import { LiveView } from './live.js';
import { PredictView } from './predict.js';
import { tabs } from './tabs.js';

/* Interval of retries while the server does not answer. */
const RETRY_MS = 2000;

let retry = 0;

function showServer(ok) {
    const place = byId('server');
    const text = ok ? plural(predict.models.length, 'model') : 'No answer from the server';
    if (place.textContent !== text)
        place.textContent = text; // only then: a screen reader announces each change
    place.dataset.state = ok ? 'ok' : 'gone';
}

/** After a restart the server may serve other models: asks for them until it answers. */
function tellServer(ok) {
    if (!ok && retry === 0) {
        showServer(false);
        retry = setTimeout(start, RETRY_MS);
    }
}

const live = new LiveView(byId('live'), tellServer);
const predict = new PredictView((record) => live.addRecord(record), tellServer);

async function start() {
    retry = 0;
    try {
        await predict.loadModels();
        live.setModels(predict.models);
        showServer(true);
    } catch {
        tellServer(false);
    }
}

tabs([byId('tab-predict'), byId('tab-live')], (id) => live.setShown(id === 'live'));
start();
