import Vocabulary

/// An operator's token in `admin.tokens_file`: its name, scopes and hash.
///
/// Each line of the file is `name scopes sha256`, such as `ops read,sessions 5e88...`. Two lines may share a name while
/// a token is replaced. Blank lines and lines that begin with `#` are ignored.
package struct OperatorToken: Sendable, Equatable {
    /// A permission of a token.
    package enum Scope: String, Sendable, CaseIterable {
        /// List the sessions of users, the limits and the clients.
        case read
        /// End sessions, reset limits, and list, set and lift blocks of users.
        case sessions
        /// Change the OAuth clients.
        case clients
        /// Create, change and delete users by SCIM, which blocks users.
        case scim
    }

    package var name: String
    package var scopes: Set<Scope>
    /// The SHA-256 of the token, 32 bytes.
    package var digest: [UInt8]

    /// The error in a file, described without the file's content.
    package struct Fault: Error, Sendable, Hashable {
        package let found: String
    }

    /// The maximum number of tokens in a file.
    package static let most = 64

    /// Reads the tokens of a file.
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
