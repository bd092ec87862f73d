// Reads lines with a schema and values, and says for each which of the values ajv takes: "10", "refused", or "broken".
import { createInterface } from "node:readline";
import Ajv2020 from "ajv/dist/2020.js";

const options = { strict: false, validateFormats: false, ownProperties: true, logger: false };
const ajv = new Ajv2020(options);
for await (const line of createInterface({ input: process.stdin })) {
  const { schema, values } = JSON.parse(line);
  try {
    const validate = ajv.compile(schema);
    console.log(values.map((each) => (validate(each) ? "1" : "0")).join(""));
    if (typeof schema === "object") ajv.removeSchema(schema); // a boolean is not kept
  } catch (failed) {
    // The code it made of the schema is wrong: a mistake of ajv, which says nothing about the schema.
    console.log(failed instanceof ReferenceError ? "broken" : "refused");
  }
}
