/* Assembles the page and shows the server's state. */
import { byId } from './dom.js';
import { Feedback } from './feedback.js';
import { plural } from './format.js';
import { HistoryView } from './history.js';
import { LiveView } from './live.js';
import { ModelsView } from './models.js';
import { PredictView } from './predict.js';
import { ReviewView } from './review.js';
import { SearchView } from './search.js';
import { tabs } from './tabs.js';

/* Interval of retries while the server does not answer. */
const RETRY_MS = 2000;

let retry = 0;

function showServer(ok, why = 'No answer from the server') {
    const place = byId('server');
    const text = ok ? plural(predict.models.length, 'model') : why;
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
const versions = new ModelsView(byId('models'), { changed: start, tellServer });
const review = new ReviewView(byId('review'), { tellServer });
const search = new SearchView(byId('search'), { tellServer });
const feedback = new Feedback(() => past.update());
const past = new HistoryView(byId('history'), feedback);
const predict = new PredictView({ feedback, tellServer, finish: (entry) => past.finish(entry),
    search: (input, name) => {
        location.hash = '#search';
        search.take(input, name);
    },
    record: (record) => {
        live.addRecord(record);
        past.add(record);
        review.addRecord(record);
    } });

async function start() {
    retry = 0;
    try {
        await predict.loadModels();
        live.setModels(predict.models);
        review.setModels(predict.models);
        search.setModels(predict.models);
        showServer(true);
    } catch (error) {
        tellServer(false);
        if (error.problem?.status === 401)
            showServer(false, 'The server asks for a key');
    }
}

tabs(['tab-predict', 'tab-search', 'tab-history', 'tab-review', 'tab-live',
    'tab-models'].map(byId), (id) => {
    review.setShown(id === 'review');
    live.setShown(id === 'live');
    past.setShown(id === 'history');
    versions.setShown(id === 'models');
});
start();
