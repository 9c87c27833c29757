import Vocabulary

/// A token of an operator, as its file keeps it: who it is for, what it may do, and its hash.
///
/// A line of the file is `name scopes sha256`, for example `ops read,sessions 5e88...`: the scopes separated by commas,
/// the SHA-256 of the token in hexadecimal. Two lines may have the same name, while a token is replaced. Blank lines and
/// lines that begin with `#` are ignored.
package struct OperatorToken: Sendable, Equatable {
    /// What a token may do.
    package enum Scope: String, Sendable, CaseIterable {
        /// See the sessions of users, the limits and the clients.
        case read
        /// End sessions, and empty limits.
        case sessions
        /// Change the OAuth clients.
        case clients
    }

    package var name: String
    package var scopes: Set<Scope>
    /// 32 bytes.
    package var digest: [UInt8]

    /// What is wrong with a file, in words that do not show it.
    package struct Fault: Error, Sendable, Hashable {
        package let found: String
    }

    /// The most tokens in a file.
    package static let most = 64

    /// The tokens of a file.
    package static func all(in bytes: [UInt8]) throws(Fault) -> [OperatorToken] {
        var tokens: [OperatorToken] = []
        let lines = String(decoding: bytes, as: UTF8.self).split(
            omittingEmptySubsequences: false,
            whereSeparator: \.isNewline
        )
        for (index, line) in lines.enumerated() {
            let words = line.split(whereSeparator: \.isWhitespace)
            guard let first = words.first, !first.hasPrefix("#") else { continue }
            guard let token = OperatorToken(words.map(String.init)) else {
                throw Fault(found: "something else in line \(index + 1)")
            }
            tokens.append(token)
        }
        guard (1...Self.most).contains(tokens.count) else { throw Fault(found: "\(tokens.count) tokens") }
        return tokens
    }
}

extension OperatorToken {
    private init?(_ words: [String]) {
        guard words.count == 3, words[0].utf8.allSatisfy(\.isUnreserved), words[0].utf8.count <= 64 else { return nil }
        let scopes = words[1].split(separator: ",").map { Scope(rawValue: String($0)) }
        guard !scopes.isEmpty, !scopes.contains(nil), words[2].utf8.count == 64 else { return nil }
        let digits = Array(words[2].utf8)
        let digest = stride(from: 0, to: 64, by: 2).compactMap { index -> UInt8? in
            UInt8(String(decoding: digits[index...(index + 1)], as: UTF8.self), radix: 16)
        }
        guard digest.count == 32, digits.allSatisfy({ $0 != 0x2B && $0 != 0x2D }) else { return nil }
        self.init(name: words[0], scopes: Set(scopes.compactMap(\.self)), digest: digest)
    }
}
