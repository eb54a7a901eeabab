// Prints types of a TypeScript declaration file as JSON Schema: node typescript.js TYPESCRIPT FILE TYPE...
const path = require("path");
const [, , typescript, file, ...wanted] = process.argv;
const ts = require(path.resolve(typescript));

const options = { strict: true, noEmit: true, skipLibCheck: true, types: [], target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext };
const program = ts.createProgram([path.resolve(file)], options);
const checker = program.getTypeChecker();
const flags = ts.TypeFlags;
const definitions = {}, names = new Map();
// Types of the platform, whose members are no data.
const OPAQUE = new Set(["Uint8Array", "Buffer", "ArrayBuffer", "Map", "Set", "AbortSignal", "AbortController", "Promise"]);

const nameOf = (type) => type.aliasSymbol?.name || (type.symbol && !type.symbol.name.startsWith("__") && type.symbol.name) || "";
const isFunction = (type) => type.getCallSignatures().length > 0;

function schema(type) {
    if (type.flags & (flags.Any | flags.Unknown | flags.TypeParameter | flags.NonPrimitive)) return true;
    if (type.flags & (flags.Undefined | flags.Void | flags.Never | flags.ESSymbolLike)) return false;
    if (type.flags & flags.Null) return { type: "null" };
    if (type.isStringLiteral()) return { const: type.value };
    if (type.flags & flags.BooleanLike) return { type: "boolean" };
    if (type.flags & (flags.NumberLike | flags.BigIntLike) && typeof type.value !== "string") return { type: "number" };
    if (type.flags & flags.StringLike) return type.value === undefined ? { type: "string" } : { const: type.value };
    if (type.flags & (flags.Conditional | flags.Index | flags.IndexedAccess | flags.Substitution)) {
        const bound = checker.getBaseConstraintOfType(type);
        return bound && bound !== type ? schema(bound) : true;
    }
    if (type.isUnion()) return named(type, () => ({ anyOf: type.types.map(schema) }));
    if (checker.isArrayType(type) || checker.isTupleType(type)) {
        return { type: "array", items: { anyOf: checker.getTypeArguments(type).map(schema) } };
    }
    if (isFunction(type)) return false;
    if (OPAQUE.has(nameOf(type))) return true;
    return named(type, () => object(type));
}

function object(type) {
    const made = { type: "object", properties: {}, required: [] };
    for (const property of type.getProperties()) {
        const of = checker.getTypeOfSymbol(property);
        const isOptional = property.flags & ts.SymbolFlags.Optional || (of.isUnion() && of.types.some((one) => one.flags & flags.Undefined));
        if (property.name.startsWith("__@") || isFunction(of)) continue;
        made.properties[property.name] = schema(of);
        if (!isOptional) made.required.push(property.name);
    }
    const rest = checker.getIndexInfoOfType(type, ts.IndexKind.String);
    made.additionalProperties = rest ? schema(rest.type) : false;
    return made;
}

// A type that has a name is used by it, so that one that contains itself ends.
function named(type, make) {
    if (!nameOf(type)) return make();
    if (!names.has(type)) {
        let name = nameOf(type), number = 1;
        while (definitions[name]) name = nameOf(type) + ++number;
        names.set(type, name);
        definitions[name] = {};
        definitions[name] = make();
    }
    return { $ref: "#/definitions/" + names.get(type) };
}

const source = program.getSourceFile(path.resolve(file)), types = {};
const declared = new Map();
(function find(node) {
    const isType = ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node);
    if (isType) declared.set(node.name.text, checker.getTypeAtLocation(node.name));
    if (ts.isSourceFile(node) || ts.isModuleBlock(node) || ts.isModuleDeclaration(node)) ts.forEachChild(node, find);
})(source);
for (const name of wanted) types[name] = declared.has(name) ? schema(declared.get(name)) : null;
process.stdout.write(JSON.stringify({ definitions, types }));
