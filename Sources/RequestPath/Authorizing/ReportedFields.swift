import Glibc

/// The names of all identity fields. An answer contains every one (if `CheckForm.hasEmptyFields`), because the proxy
/// would pass a missing field from the client to the app (CVE-2026-30851).
struct ReportedFields: Sendable {
    /// The starts of the field lines, such as `X-Auth-Subject: `, in the order of the rendered lines.
    private let beginnings: [[UInt8]]
    /// True if one of the fields is `Authorization`.
    let replaceAuthorization: Bool

    init(_ identity: IdentityProfile) {
        self.replaceAuthorization = identity.replacesAuthorization
        var names = identity.sources.map(\.beginning)
        if identity.hasBasic { names.append(Array("Authorization: ".utf8)) }
        if identity.assertion != nil { names.append(Array("\(AssertionSigner.field): ".utf8)) }
        self.beginnings = names
    }

    /// Appends the identity's lines. If `emptyOnes` is true, appends a line with an empty value for each other field.
    ///
    /// - Parameters:
    ///   - identity: The lines about the user. `nil` if nobody is signed in.
    func append(_ identity: IdentityLines?, to lines: inout [UInt8], emptyOnes: Bool) {
        guard emptyOnes else {
            lines += identity?.session ?? []
            lines += identity?.assertion ?? []
            return
        }
        var next = 0
        identity?.session.withUnsafeBufferPointer { self.append($0, from: &next, to: &lines) }
        identity?.assertion?.withUnsafeBufferPointer { self.append($0, from: &next, to: &lines) }
        while next < self.beginnings.count { self.appendEmpty(&next, to: &lines) }
    }

    /// Appends the rendered lines and, in between, an empty value for each field without a rendered line.
    private func append(_ rendered: UnsafeBufferPointer<UInt8>, from next: inout Int, to lines: inout [UInt8]) {
        guard var start = rendered.baseAddress else { return }
        let end = start + rendered.count
        while start < end, let lineFeed = memchr(start, 0x0A, end - start) {
            let lineEnd = UnsafePointer(lineFeed.assumingMemoryBound(to: UInt8.self)) + 1
            while next < self.beginnings.count, !self.begins(start, lineEnd - start, next) {
                self.appendEmpty(&next, to: &lines)
            }
            lines.append(contentsOf: UnsafeBufferPointer(start: start, count: lineEnd - start))
            next += 1
            start = lineEnd
        }
    }

    private func begins(_ line: UnsafePointer<UInt8>, _ count: Int, _ index: Int) -> Bool {
        self.beginnings[index].withUnsafeBufferPointer { beginning in
            guard let start = beginning.baseAddress, beginning.count <= count else { return false }
            return memcmp(line, start, beginning.count) == 0
        }
    }

    private func appendEmpty(_ next: inout Int, to lines: inout [UInt8]) {
        lines.append(contentsOf: self.beginnings[next])
        lines.append(0x0D)
        lines.append(0x0A)
        next += 1
    }
}
