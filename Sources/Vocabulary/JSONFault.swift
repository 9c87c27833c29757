/// Why bytes are rejected as JSON. The raw value completes a sentence that begins with a noun such as "The body".
package enum JSONFault: String, Error, Sendable {
    case empty = "is empty"
    case byteOrderMark = "begins with a byte order mark (BOM), which JSON must not have"
    case encoding = "is not in UTF-8"
    case null = "has a zero byte, which JSON must not have"
    case depth = "is nested too deeply"
    case repeated = "has a member twice"
    case surrogate = "has half of a surrogate pair, which is not a character"
    case number = "has a number that is too large"
    case rest = "has more text after its JSON"
    case syntax = "is not JSON"
    /// The JSON is valid, but not an object.
    case noObject = "is JSON, but not an object"
}
