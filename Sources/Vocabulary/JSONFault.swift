/// Why bytes are not the JSON that is read here: strictly, and to a bounded depth. The raw value ends a sentence that begins
/// with what the bytes are.
package enum JSONFault: String, Error, Sendable {
    case empty = "is empty"
    case byteOrderMark = "begins with a byte order mark (BOM), which JSON must not have"
    case encoding = "is not in UTF-8"
    case depth = "is nested too deep"
    case repeated = "has a member twice"
    case surrogate = "has half a surrogate pair, which is no character"
    case number = "has a number that is too large"
    case rest = "goes on after the end of its JSON"
    case syntax = "is not JSON"
    /// Only where an object is wanted.
    case noObject = "is JSON, but not an object"
}
