import CHiredis
import NIOCore

/// The limits on what one connection may make the gateway store.
package struct ReplyLimits: Sendable, Hashable {
    /// The maximum number of bytes of an incomplete reply, and of all strings of one reply together.
    package var bytes: Int
    /// The maximum number of elements of one reply, including elements of inner arrays.
    package var elements: Int

    package init(bytes: Int = 1 << 20, elements: Int = 4096) {
        self.bytes = bytes
        self.elements = elements
    }
}

/// Cuts the bytes of one connection into replies. It uses hiredis's reader with functions that build a `RedisReply`, so
/// that each string is copied only once.
///
/// An error is final: nothing after a malformed reply can be matched to a command. Confined to one loop.
package final class ReplyReader {
    /// The number of bytes passed to hiredis at once. It is small: hiredis moves unread bytes after each KB of replies.
    private static let pieceBytes = 4096
    /// Enough bytes for what surrounds an incomplete string: `$`, the digits of its length, a line end, one byte (CR).
    private static let framingBytes = 32

    private let reader: UnsafeMutablePointer<redisReader>
    private let builder: ReplyBuilder
    private let limits: ReplyLimits
    private var error: ReplyError?

    package init(limits: ReplyLimits = ReplyLimits()) {
        guard let reader = redisReaderCreateWithFunctions(ReplyBuilder.functions) else {
            preconditionFailure("no memory for a reply reader")
        }
        self.reader = reader
        self.builder = ReplyBuilder(limits: limits)
        self.limits = limits
        // hiredis copies this pointer into each task; the builder lives as long as the reader.
        reader.pointee.privdata = Unmanaged.passUnretained(self.builder).toOpaque()
    }

    deinit {
        redisReaderFree(self.reader)
    }

    /// Reads the bytes that arrived and calls `body` with each reply that they complete, in order.
    ///
    /// `body` returns false to stop. The connection then ends, and the rest is not read.
    package func feed(_ bytes: UnsafeRawBufferPointer, _ body: (RedisReply) -> Bool) throws(ReplyError) {
        if let error = self.error { throw error }
        var rest = bytes[...]
        while !rest.isEmpty {
            let piece = UnsafeRawBufferPointer(rebasing: rest.prefix(Self.pieceBytes))
            rest = rest.dropFirst(Self.pieceBytes)
            guard try self.feedPiece(piece, body) else { return }
        }
    }

    /// Reads the bytes of a buffer, calls `body` with each reply, and returns the error.
    func feed(_ buffer: ByteBuffer, _ body: (RedisReply) -> Bool) -> ReplyError? {
        // `withUnsafeReadableBytes` cannot rethrow typed errors.
        buffer.withUnsafeReadableBytes { bytes in
            do throws(ReplyError) {
                try self.feed(bytes, body)
                return nil
            } catch {
                return error
            }
        }
    }

    /// Reads one piece. Returns false if `body` has stopped.
    private func feedPiece(_ piece: UnsafeRawBufferPointer, _ body: (RedisReply) -> Bool) throws(ReplyError) -> Bool {
        let start = piece.assumingMemoryBound(to: CChar.self).baseAddress
        guard redisReaderFeed(self.reader, start, piece.count) == REDIS_OK else { throw self.fail(.malformed) }
        while true {
            var object: UnsafeMutableRawPointer?
            guard redisReaderGetReply(self.reader, &object) == REDIS_OK else { throw self.fail(.malformed) }
            guard object != nil else { break }
            guard let reply = self.builder.take() else { throw self.fail(.malformed) }
            guard body(reply) else { return false }
        }
        // hiredis buffers as many bytes as a header announces. The gateway limits the buffered bytes.
        guard self.reader.pointee.len - self.reader.pointee.pos <= self.limits.bytes + Self.framingBytes else {
            throw self.fail(.tooLarge)
        }
        return true
    }

    private func fail(_ error: ReplyError) -> ReplyError {
        self.error = error
        return error
    }
}

/// Builds a reply from the objects that hiredis finds: first an array, then its elements. The pointer that hiredis gets
/// for each object has no meaning.
private final class ReplyBuilder {
    /// An array with missing elements.
    private struct OpenArray {
        var elements: [RedisReply] = []
        var missing: Int
    }

    private let limits: ReplyLimits
    /// The open arrays, the outermost first; hiredis accepts at most nine levels.
    private var open: [OpenArray] = []
    private var root: RedisReply?
    private var elementCount = 0
    private var byteCount = 0

    init(limits: ReplyLimits) {
        self.limits = limits
    }

    /// The functions of every reader; never changed and never freed.
    nonisolated(unsafe) static let functions: UnsafeMutablePointer<redisReplyObjectFunctions> = {
        let functions = UnsafeMutablePointer<redisReplyObjectFunctions>.allocate(capacity: 1)
        functions.initialize(
            to: redisReplyObjectFunctions(
                createString: { task, text, count in
                    ReplyBuilder.of(task)?.addString(text, count, task)
                },
                createArray: { task, count in ReplyBuilder.of(task)?.beginArray(Int(count), task) },
                createInteger: { task, value in ReplyBuilder.of(task)?.add(.integer(value), task) },
                createNil: { task in ReplyBuilder.of(task)?.add(.null, task) },
                // Called only for the root of an incomplete reply. `take` or the next root clears it.
                freeObject: { _ in }
            )
        )
        return functions
    }()

    private static func of(_ task: UnsafePointer<redisReadTask>?) -> ReplyBuilder? {
        guard let pointer = task?.pointee.privdata else { return nil }
        return Unmanaged<ReplyBuilder>.fromOpaque(pointer).takeUnretainedValue()
    }

    /// Records an object. Returns `nil` beyond a limit. hiredis reports that as a lack of memory, which is a final
    /// error.
    private func enter(_ task: UnsafePointer<redisReadTask>?, bytes: Int = 0) -> UnsafeMutableRawPointer? {
        if task?.pointee.parent == nil { self.begin() }
        self.elementCount += 1
        self.byteCount += bytes
        guard self.elementCount <= self.limits.elements + 1, self.byteCount <= self.limits.bytes else { return nil }
        return UnsafeMutableRawPointer(bitPattern: 1)
    }

    private func begin() {
        self.open.removeAll(keepingCapacity: true)
        self.root = nil
        self.elementCount = 0
        self.byteCount = 0
    }

    private func add(_ reply: RedisReply, _ task: UnsafePointer<redisReadTask>?) -> UnsafeMutableRawPointer? {
        guard let object = self.enter(task) else { return nil }
        self.place(reply)
        return object
    }

    private func beginArray(_ count: Int, _ task: UnsafePointer<redisReadTask>?) -> UnsafeMutableRawPointer? {
        guard let object = self.enter(task) else { return nil }
        guard count > 0 else {
            self.place(.array([]))
            return object
        }
        var array = OpenArray(missing: count)
        // The announced length of an array is not trusted: its storage grows with the elements that arrive.
        array.elements.reserveCapacity(min(count, 16))
        self.open.append(array)
        return object
    }

    /// Adds the reply to the innermost open array. A completed array is added to the array around it, or is the root.
    private func place(_ reply: RedisReply) {
        var reply = reply
        while let last = self.open.indices.last {
            self.open[last].elements.append(reply)
            self.open[last].missing -= 1
            guard self.open[last].missing == 0 else { return }
            reply = .array(self.open.removeLast().elements)
        }
        self.root = reply
    }

    private func addString(
        _ text: UnsafeMutablePointer<CChar>?,
        _ count: Int,
        _ task: UnsafePointer<redisReadTask>?
    ) -> UnsafeMutableRawPointer? {
        guard let text else { return nil }
        // hiredis does not check the two bytes after the string: `$3\r\nabcXX` would be read as `abc`.
        guard text[count] == 0x0D, text[count + 1] == 0x0A else { return nil }
        guard let object = self.enter(task, bytes: count) else { return nil }
        let bytes = UnsafeRawBufferPointer(start: text, count: count)
        switch task?.pointee.type {
        case REDIS_REPLY_STRING: self.place(.bulk(Array(bytes)))
        case REDIS_REPLY_STATUS: self.place(.status(String(decoding: bytes, as: UTF8.self)))
        case REDIS_REPLY_ERROR: self.place(.error(RedisServerError(line: String(decoding: bytes, as: UTF8.self))))
        default: return nil
        }
        return object
    }

    /// Returns the finished reply, and prepares for the next one; `nil` if no reply is finished.
    func take() -> RedisReply? {
        defer { self.begin() }
        return self.root
    }
}
