import Glibc

/// The reason why a file with facts about addresses cannot be used.
package enum AddressFileError: Error, Equatable, CustomStringConvertible {
    /// The file cannot be opened or read; `code` is the system's errno.
    case unreadable(path: String, code: Int32)
    /// The path does not lead to a regular file.
    case notAFile(path: String)
    /// The file is larger than `limit` bytes.
    case tooLarge(path: String, limit: Int)
    /// The file is not a MaxMind database, or is damaged or half written.
    case invalidDatabase(path: String, detail: String)
    /// The file is valid but has no autonomous system numbers: it is a database of another kind, or empty.
    case noNumbers(path: String)
    /// The file is valid but has no countries: it is a database of another kind, or empty.
    case noPlaces(path: String)
    /// A line of a CSV file is invalid. The first line has number 1.
    case invalidLine(path: String, line: Int, detail: String)

    /// The message for the operator, with the path and the cause.
    package var description: String {
        switch self {
        case .unreadable(let path, let code): "\(path): \(String(cString: strerror(code)))"
        case .notAFile(let path): "\(path): not a regular file"
        case .tooLarge(let path, let limit): "\(path): larger than \(limit / 1_048_576) MiB"
        case .invalidDatabase(let path, let detail): "\(path): not a valid MaxMind database: \(detail)"
        case .noNumbers(let path): "\(path): has no autonomous system numbers; is it a database of another kind?"
        case .noPlaces(let path): "\(path): has no countries; is it a database of another kind?"
        case .invalidLine(let path, let line, let detail): "\(path):\(line): \(detail)"
        }
    }
}
