import CHiredis

/// Bounds on what one connection may make us hold.
package struct ReplyLimits: Sendable, Hashable {
    /// Bytes of a reply that is incomplete, and of all strings of one reply together.
    package var bytes: Int
    /// Elements of one reply, those of inner arrays included.
    package var elements: Int

    package init(bytes: Int = 1 << 20, elements: Int = 4096) {
        self.bytes = bytes
        self.elements = elements
    }
}

/// Cuts the bytes of one connection into replies: hiredis's reader with our own object functions, so that a string is
/// copied once, into the reply.
///
/// Errors are sticky: what follows a malformed reply cannot be paired with anything. Confined to one loop.
package final class ReplyReader {
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
        // hiredis copies this into each task; the builder lives as long as the reader.
        reader.pointee.privdata = Unmanaged.passUnretained(self.builder).toOpaque()
    }

    deinit {
        redisReaderFree(self.reader)
    }

    /// Takes the bytes that arrived and hands each reply that they complete to `body`, in order.
    ///
    /// `body` returns false to stop: then the connection is done with and the rest is never read.
    package func feed(
        _ bytes: UnsafeRawBufferPointer,
        _ body: (RedisReply) -> Bool
    ) throws(ReplyError) {
        if let error = self.error { throw error }
        guard let start = bytes.assumingMemoryBound(to: CChar.self).baseAddress, bytes.count > 0 else { return }
        guard redisReaderFeed(self.reader, start, bytes.count) == REDIS_OK else { throw self.fail(.malformed) }
        while true {
            var object: UnsafeMutableRawPointer?
            guard redisReaderGetReply(self.reader, &object) == REDIS_OK else { throw self.fail(.malformed) }
            guard let object else { break }
            guard let reply = self.builder.take(object) else { throw self.fail(.malformed) }
            guard body(reply) else { return }
        }
        // hiredis waits for whatever length a header announces; we do not.
        guard self.reader.pointee.len - self.reader.pointee.pos <= self.limits.bytes else {
            throw self.fail(.tooLarge)
        }
    }

    private func fail(_ error: ReplyError) -> ReplyError {
        self.error = error
        return error
    }
}

/// Collects the objects that hiredis finds. hiredis sees 1-based indices in place of pointers.
private final class ReplyBuilder {
    private enum Node {
        case leaf(RedisReply)
        case array([Int])
    }

    private let limits: ReplyLimits
    private var nodes: [Node] = []
    private var byteCount = 0

    init(limits: ReplyLimits) {
        self.limits = limits
    }

    /// The functions for every reader; never written after, never freed.
    nonisolated(unsafe) static let functions: UnsafeMutablePointer<redisReplyObjectFunctions> = {
        let functions = UnsafeMutablePointer<redisReplyObjectFunctions>.allocate(capacity: 1)
        functions.initialize(
            to: redisReplyObjectFunctions(
                createString: { task, text, count in
                    ReplyBuilder.of(task)?.addString(text, count, type: task?.pointee.type ?? 0, to: task)
                },
                createArray: { task, _ in ReplyBuilder.of(task)?.add(.array([]), to: task) },
                createInteger: { task, value in ReplyBuilder.of(task)?.add(.leaf(.integer(value)), to: task) },
                createNil: { task in ReplyBuilder.of(task)?.add(.leaf(.null), to: task) },
                // Only the root of a reply that was never completed comes here; `take` or the next root clears it.
                freeObject: { _ in }
            )
        )
        return functions
    }()

    private static func of(_ task: UnsafePointer<redisReadTask>?) -> ReplyBuilder? {
        guard let pointer = task?.pointee.privdata else { return nil }
        return Unmanaged<ReplyBuilder>.fromOpaque(pointer).takeUnretainedValue()
    }

    /// Keeps the node under its parent; nil (which hiredis takes for "no memory" and makes sticky) over a limit.
    private func add(_ node: Node, to task: UnsafePointer<redisReadTask>?) -> UnsafeMutableRawPointer? {
        let parent = task?.pointee.parent?.pointee.obj
        if parent == nil {
            self.nodes.removeAll(keepingCapacity: true)
            self.byteCount = 0
        }
        // The length that an array announces is never believed: its elements are counted as they come.
        guard self.nodes.count <= self.limits.elements else { return nil }
        self.nodes.append(node)
        let index = self.nodes.count
        if let parent {
            let parentIndex = Int(bitPattern: parent) - 1
            guard self.nodes.indices.contains(parentIndex), case .array(var children) = self.nodes[parentIndex] else {
                return nil
            }
            // Taken out while it grows, so that it is not copied with each element.
            self.nodes[parentIndex] = .array([])
            children.append(index - 1)
            self.nodes[parentIndex] = .array(children)
        }
        return UnsafeMutableRawPointer(bitPattern: index)
    }

    func addString(
        _ text: UnsafeMutablePointer<CChar>?,
        _ count: Int,
        type: Int32,
        to task: UnsafePointer<redisReadTask>?
    ) -> UnsafeMutableRawPointer? {
        guard let text else { return nil }
        // hiredis has the two bytes after the string but does not look at them: `$3\r\nabcXX` would pass for `abc`.
        guard text[count] == 0x0D, text[count + 1] == 0x0A else { return nil }
        if task?.pointee.parent?.pointee.obj == nil { self.byteCount = 0 }
        self.byteCount += count
        guard self.byteCount <= self.limits.bytes else { return nil }
        let bytes = UnsafeRawBufferPointer(start: text, count: count)
        switch type {
        case REDIS_REPLY_STRING:
            return self.add(.leaf(.bulk(Array(bytes))), to: task)
        case REDIS_REPLY_STATUS:
            return self.add(.leaf(.status(String(decoding: bytes, as: UTF8.self))), to: task)
        case REDIS_REPLY_ERROR:
            let line = String(decoding: bytes, as: UTF8.self)
            return self.add(.leaf(.error(RedisServerError(line: line))), to: task)
        default:
            return nil
        }
    }

    /// The finished reply whose root hiredis returned.
    func take(_ root: UnsafeMutableRawPointer) -> RedisReply? {
        defer {
            self.nodes.removeAll(keepingCapacity: self.nodes.capacity <= 64)
            self.byteCount = 0
        }
        return self.reply(at: Int(bitPattern: root) - 1)
    }

    /// hiredis nests nine deep at most, so the recursion is bounded.
    private func reply(at index: Int) -> RedisReply? {
        guard self.nodes.indices.contains(index) else { return nil }
        switch self.nodes[index] {
        case .leaf(let reply):
            return reply
        case .array(let children):
            var elements: [RedisReply] = []
            elements.reserveCapacity(children.count)
            for child in children {
                guard let element = self.reply(at: child) else { return nil }
                elements.append(element)
            }
            return .array(elements)
        }
    }
}
