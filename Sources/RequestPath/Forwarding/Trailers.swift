import Glibc
package import NIOCore

/// The received trailers of a message (RFC 9110 6.5), not yet checked by `TrailerRules`.
package final class TrailerSection {
    /// HTTP/1 field lines, each with its line end.
    package private(set) var lines: [UInt8] = []
    private var byteCount = 0
    private let limit: Int

    /// - Parameter limit: The maximum size of the section in bytes.
    package init(limit: Int) {
        self.limit = limit
    }

    /// True if the section exceeds its limit. `lines` is then incomplete.
    package var isTooLarge: Bool { self.byteCount > self.limit }
    /// True if the section is so large that the stream is reset instead of answering the request.
    package var isFarTooLarge: Bool { self.byteCount > 4 * self.limit }

    /// Moves the next `count` bytes of `content` (HTTP/1 field lines) to the section.
    package func take(_ count: Int, of content: inout ByteBuffer) {
        self.byteCount += count
        if !self.isTooLarge {
            content.withUnsafeReadableBytes { self.lines.append(contentsOf: $0.prefix(count)) }
        }
        content.moveReaderIndex(forwardBy: count)
    }

    /// Appends an HTTP/2 field.
    ///
    /// - Parameters:
    ///   - name: A token.
    ///   - value: A value without control characters.
    ///   - overhead: The number of bytes to add to the size of the field.
    package func append(_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>, overhead: Int) {
        self.byteCount += name.count + value.count + overhead
        guard !self.isTooLarge else { return }
        self.lines.append(contentsOf: name)
        self.lines += [0x3A, 0x20]
        self.lines.append(contentsOf: value)
        self.lines += [0x0D, 0x0A]
    }
}

/// The checked fields that follow a body. Only `TrailerRules` creates them.
package struct Trailers: Sendable {
    /// One or more HTTP/1 field lines, each with its CRLF.
    package let lines: [UInt8]

    fileprivate init(_ lines: [UInt8]) {
        self.lines = lines
    }
}

/// Decides which fields may follow a body.
///
/// Apps and clients may merge trailers into the head (RFC 9110 6.5.1). Every field that has a meaning in a head is
/// therefore dropped or refused, in any spelling.
package struct TrailerRules: Sendable {
    /// The result for a trailer section.
    package enum Outcome: Sendable {
        /// The allowed fields. `nil` if there are none.
        case passed(Trailers?)
        /// The section exceeds the limits of a head.
        case tooLarge
        /// The request has a trailer that belongs only in a head, such as `Host`.
        case refused
    }

    private let names: FieldNames
    private let requestLimits: HeadLimits
    private let answerLimits: HeadLimits
    private let dropsUnderscore: Bool

    /// - Parameters:
    ///   - managedNames: Normalised names that only the gateway may set.
    ///   - managedPrefixes: Normalised prefixes of names that only the gateway may set.
    ///   - requestLimits: The limits of a request's head.
    ///   - answerLimits: The limits of an answer's head.
    ///   - dropsUnderscore: True if client fields with `_` in their names are dropped.
    package init(
        managedNames: [String],
        managedPrefixes: [String],
        requestLimits: HeadLimits,
        answerLimits: HeadLimits,
        dropsUnderscore: Bool
    ) {
        self.names = FieldNames(
            roles: FieldNames.requestRoles + FieldNames.responseRoles,
            managedNames: managedNames + FieldNames.ofHeads,
            managedPrefixes: managedPrefixes + FieldNames.prefixesOfHeads
        )
        self.requestLimits = requestLimits
        self.answerLimits = answerLimits
        self.dropsUnderscore = dropsUnderscore
    }

    /// An empty section for a client's trailers.
    package var sectionOfRequest: TrailerSection { TrailerSection(limit: self.requestLimits.fields) }
    /// An empty section for an app's trailers.
    package var sectionOfAnswer: TrailerSection { TrailerSection(limit: self.answerLimits.fields) }

    /// Checks the trailers of a request.
    ///
    /// - Parameter route: The route, which may remove request fields. `nil` if there is none.
    package func check(_ section: TrailerSection, ofRequestOn route: RouteEntry?) -> Outcome {
        self.check(section, self.requestLimits) { name, text in
            if FieldNames.refusesTrailer(text) { return .refused }
            let drops = self.dropsUnderscore && name.hasUnderscore || route?.removes(text) == true
            return drops ? .dropped : .kept
        }
    }

    /// Checks the trailers of an answer.
    ///
    /// - Parameters:
    ///   - route: The route, which may remove answer fields. `nil` if there is none.
    ///   - isRewritten: True if the gateway changed the content. The app's digests are then wrong.
    package func check(_ section: TrailerSection, ofAnswerOn route: RouteEntry?, isRewritten: Bool = false) -> Outcome {
        self.check(section, self.answerLimits) { _, text in
            let drops = isRewritten && MultistatusBody.isDigest(text) || route?.answerEdits.removes(text) == true
            return drops ? .dropped : .kept
        }
    }

    private enum Verdict { case kept, dropped, refused }

    /// Checks each line, first with `judge` and then by the role of its name.
    private func check(
        _ section: TrailerSection,
        _ limits: HeadLimits,
        _ judge: (FieldName, UnsafeBufferPointer<UInt8>) -> Verdict
    ) -> Outcome {
        guard !section.isTooLarge else { return .tooLarge }
        return section.lines.withUnsafeBufferPointer { bytes in
            guard let base = bytes.baseAddress else { return .passed(nil) }
            var kept: [UInt8] = []
            var (start, count) = (0, 0)
            while start < bytes.count, let lineFeed = memchr(base + start, 0x0A, bytes.count - start) {
                let end = UnsafeRawPointer(lineFeed) - UnsafeRawPointer(base)
                let line = base + start
                count += 1
                guard count <= limits.fieldCount, end - start <= limits.field else { return .tooLarge }
                if let name = self.names.name(of: line, end + 1 - start) {
                    switch judge(name, UnsafeBufferPointer(start: line, count: name.count)) {
                    case .refused: return .refused
                    case .dropped: break
                    case .kept: self.append(name, line, end - start, to: &kept)
                    }
                }
                start = end + 1
            }
            return .passed(kept.isEmpty ? nil : Trailers(kept))
        }
    }

    /// Appends a line unless its field belongs in a head.
    ///
    /// - Parameter count: The length of the line in bytes, without its line feed.
    private func append(_ name: FieldName, _ line: Bytes, _ count: Int, to kept: inout [UInt8]) {
        let text = UnsafeBufferPointer(start: line, count: name.count)
        guard name.role == .other, !ResponseWriter.isTargeted(text) else { return }
        let rest = UnsafeBufferPointer(start: line + name.count + 1, count: count - name.count - 1)
        let isWhole = rest.last == 0x0D
        let value = ByteClass.trimmed(isWhole ? UnsafeBufferPointer(rebasing: rest.dropLast()) : rest)
        if let base = value.baseAddress, ByteClass.hasControl(base, value.count) { return }
        kept.append(contentsOf: text)
        kept += [0x3A, 0x20]
        kept.append(contentsOf: value)
        kept += [0x0D, 0x0A]
    }
}
