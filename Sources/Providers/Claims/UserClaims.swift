import Settings
package import Vocabulary

/// A user's claims from one or several documents of a provider.
package struct UserClaims: Sendable, Hashable {
    /// The documents, which are JSON objects. The first one with a claim decides the claim.
    private var documents: [JSONValue]

    package init(_ documents: [JSONValue]) {
        self.documents = documents
    }

    package mutating func append(_ document: JSONValue) {
        self.documents.append(document)
    }

    /// Adds a userinfo answer to the claims of an id_token, without claims about the sign-in. Userinfo describes the
    /// user only (OpenID Connect Core 2, 5.1).
    package mutating func append(userInfo: JSONValue) {
        guard let members = userInfo.members else { return }
        self.append(.object(members.filter { !Self.ofSignIn.contains($0.key) }))
    }

    /// The claims about how and when the user signed in (OpenID Connect Core 2).
    static let ofSignIn: Set<String> = ["acr", "amr", "auth_time"]

    /// Returns the value at a path of member names; `nil` if it is absent or null. In a list, a name applies to each
    /// element (`JSONValue.value`).
    package func value(at path: [String]) -> JSONValue? {
        for document in self.documents {
            if let value = document.value(at: path), value != .null { return value }
        }
        return nil
    }

    /// Returns the value at `path` from the documents that contain the value at `other`; `nil` if there is none. So a
    /// document's `email_verified` applies only to its own `email`.
    package func value(at path: [String], beside other: [String]) -> JSONValue? {
        guard let companion = self.value(at: other) else { return nil }
        if self.documents.count == 1 { return self.value(at: path) }
        return UserClaims(self.documents.filter { UserClaims([$0]).value(at: other)?.isExactly(companion) == true })
            .value(at: path)
    }

    /// Returns the value of a trait; `nil` if it is absent or null. If the trait is configured so, a text is split into
    /// a list, or an object becomes the list of its member names.
    func value(of trait: ClaimSettings.Trait) -> JSONValue? {
        let value = self.value(at: trait.path)
        if trait.takesNames { return value?.names }
        guard let form = trait.textList, let text = value?.string else { return value }
        return .array(TextList.elements(of: text, form).map { .string($0) })
    }

    /// Returns the elements of a list trait, or its single value, as texts.
    func texts(of trait: ClaimSettings.Trait) -> [String] { self.value(of: trait)?.scalarTexts ?? [] }

    /// Returns the text at a path.
    package func text(at path: String...) -> String? { self.value(at: path)?.string }

    /// Returns the texts at a path: the elements of a list, or a single text. Other values are left out.
    package func texts(at path: [String]) -> [String] {
        switch self.value(at: path) {
        case .array(let elements): elements.compactMap(\.string)
        case .string(let text): [text]
        default: []
        }
    }

    /// Returns the time at a path, in seconds since 1970 (NumericDate, RFC 7519 2); `nil` if it is not in 1970 to 9999.
    package func time(at path: String...) -> UnixTime? {
        let seconds: Double
        switch self.value(at: path) {
        case .integer(let number): seconds = Double(number)
        case .number(let number): seconds = number
        default: return nil
        }
        return (0...253_402_300_799).contains(seconds) ? UnixTime(milliseconds: Int64(seconds * 1000)) : nil
    }
}

extension JSONValue {
    /// The member names of an object, or of all objects in a list, sorted and without duplicates; `nil` for other
    /// values. Members that are null or false are left out.
    fileprivate var names: JSONValue? {
        let objects: [JSONValue]
        switch self {
        case .object: objects = [self]
        case .array(let elements): objects = elements
        default: return nil
        }
        let names = objects.flatMap { ($0.members ?? [:]).filter { $0.value != .bool(false) }.keys }
        return .array(Set(names).sorted().map(JSONValue.string))
    }

    /// Returns whether two values are equal. Texts are compared byte by byte.
    fileprivate func isExactly(_ other: JSONValue) -> Bool {
        if let text = self.string, let otherText = other.string { return text.isExactly(otherText) }
        return self == other
    }
}
