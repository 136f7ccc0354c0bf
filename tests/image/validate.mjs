/* Checks that a document is a bill of materials by CycloneDX 1.5's schema, in its strict form:
 * node tests/image/validate.mjs FILE */
import { readFileSync } from 'node:fs';
import { Spec, Validation } from '@cyclonedx/cyclonedx-library';

const document = readFileSync(process.argv[2], 'utf8');
const validator = new Validation.JsonStrictValidator(Spec.Version.v1dot5);
const problems = await validator.validate(document);
const broken = await validator.validate(document.replace('"library"', '"librari"'));
if (problems !== null || broken === null) {
    console.error(problems ?? 'a document with an unknown type was taken');
    process.exit(1);
}
console.log('validate: the document is CycloneDX 1.5');
