/* Puts the page together and says how the server is. */
import { byId } from './dom.js';
import { plural } from './format.js';
import { LiveView } from './live.js';
import { PredictView } from './predict.js';
import { tabs } from './tabs.js';

/* How long until a server that does not answer is asked again. */
const RETRY_MS = 2000;

function tellServer(ok, text) {
    const place = byId('server');
    place.textContent = text;
    place.dataset.state = ok ? 'ok' : 'gone';
}

const live = new LiveView(byId('live'), tellServer);
const predict = new PredictView((record) => live.addRecord(record));

async function start() {
    try {
        await predict.loadModels();
        tellServer(true, plural(predict.models.length, 'model'));
        live.setModels(predict.models);
    } catch {
        tellServer(false, 'No answer from the server');
        setTimeout(start, RETRY_MS);
    }
}

tabs([byId('tab-predict'), byId('tab-live')], (id) => live.setShown(id === 'live'));
start();
