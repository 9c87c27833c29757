import CYAML

/// Builds nodes from the events that libyaml finds in a text.
struct YAMLReader: ~Copyable {
    /// The reason why a text is not a YAML document.
    struct Fault: Error {
        var problem: String
        var mark: YAMLNode.Mark
    }

    private enum Event {
        case scalar(String, YAMLNode.Style)
        case beginSequence, endSequence, beginMapping, endMapping
        case beginStream, endStream, beginDocument, endDocument
        case alias
    }

    /// The maximum nesting, because nodes are read recursively.
    private static let maxDepth = 256

    private let parser: UnsafeMutablePointer<yaml_parser_t>

    private init() {
        self.parser = .allocate(capacity: 1)
        yaml_parser_initialize(self.parser)
    }

    deinit {
        yaml_parser_delete(self.parser)
        self.parser.deallocate()
    }

    /// Reads the root of the only document in a UTF-8 text; `nil` if the text has no document. All plain scalars are
    /// read as texts. Tags and anchors are ignored, and aliases are rejected.
    static func root(of text: [UInt8]) throws(Fault) -> YAMLNode? {
        try text.withUnsafeBufferPointer { bytes throws(Fault) in
            guard let base = bytes.baseAddress, !bytes.isEmpty else { return nil }
            let reader = YAMLReader()
            yaml_parser_set_encoding(reader.parser, YAML_UTF8_ENCODING)
            yaml_parser_set_input_string(reader.parser, base, bytes.count)
            do throws(Fault) {
                return try reader.document()
            } catch {
                guard reader.parser.pointee.error == YAML_READER_ERROR else { throw error }
                // A reader error has an offset instead of a line and column.
                let before = bytes.prefix(reader.parser.pointee.problem_offset)
                throw Fault(problem: error.problem, mark: YAMLNode.Mark(line: before.count { $0 == 0x0A } + 1))
            }
        }
    }

    private func document() throws(Fault) -> YAMLNode? {
        guard case .beginStream = try self.next().event, case .beginDocument = try self.next().event else { return nil }
        let (event, mark) = try self.next()
        let root = try self.node(event, mark, depth: 0)
        _ = try self.next()
        let (last, place) = try self.next()
        guard case .endStream = last else { throw Fault(problem: "but found another document", mark: place) }
        return root
    }

    private func node(_ event: Event, _ mark: YAMLNode.Mark, depth: Int) throws(Fault) -> YAMLNode {
        guard depth < Self.maxDepth else { throw Fault(problem: "more than \(Self.maxDepth) levels", mark: mark) }
        switch event {
        case .scalar(let text, let style): return YAMLNode(content: .scalar(text, style), mark: mark)
        case .beginSequence:
            var elements: [YAMLNode] = []
            while true {
                let (event, place) = try self.next()
                if case .endSequence = event { return YAMLNode(content: .sequence(elements), mark: mark) }
                elements.append(try self.node(event, place, depth: depth + 1))
            }
        case .beginMapping:
            var pairs: [(key: YAMLNode, value: YAMLNode)] = []
            while true {
                let (event, place) = try self.next()
                if case .endMapping = event { return YAMLNode(content: .mapping(pairs), mark: mark) }
                let key = try self.node(event, place, depth: depth + 1)
                let (value, valuePlace) = try self.next()
                pairs.append((key, try self.node(value, valuePlace, depth: depth + 1)))
            }
        case .alias, .endSequence, .endMapping, .beginStream, .endStream, .beginDocument, .endDocument:
            throw Fault(problem: "an alias", mark: mark)
        }
    }

    private func next() throws(Fault) -> (event: Event, mark: YAMLNode.Mark) {
        var event = yaml_event_t()
        guard yaml_parser_parse(self.parser, &event) == 1 else {
            let problem = self.parser.pointee.problem.map { String(cString: $0) } ?? "no memory"
            throw Fault(problem: problem, mark: Self.mark(self.parser.pointee.problem_mark))
        }
        defer { yaml_event_delete(&event) }
        return (Self.event(event), Self.mark(event.start_mark))
    }

    private static func event(_ event: yaml_event_t) -> Event {
        switch event.type {
        case YAML_SCALAR_EVENT:
            let scalar = event.data.scalar
            let text = String(decoding: UnsafeBufferPointer(start: scalar.value, count: scalar.length), as: UTF8.self)
            return .scalar(text, self.style(scalar.style))
        case YAML_SEQUENCE_START_EVENT: return .beginSequence
        case YAML_SEQUENCE_END_EVENT: return .endSequence
        case YAML_MAPPING_START_EVENT: return .beginMapping
        case YAML_MAPPING_END_EVENT: return .endMapping
        case YAML_STREAM_START_EVENT: return .beginStream
        case YAML_DOCUMENT_START_EVENT: return .beginDocument
        case YAML_DOCUMENT_END_EVENT: return .endDocument
        case YAML_ALIAS_EVENT: return .alias
        default: return .endStream
        }
    }

    private static func style(_ style: yaml_scalar_style_t) -> YAMLNode.Style {
        switch style {
        case YAML_PLAIN_SCALAR_STYLE: .plain
        case YAML_SINGLE_QUOTED_SCALAR_STYLE: .singleQuoted
        // Block texts are treated as quoted texts.
        default: .doubleQuoted
        }
    }

    private static func mark(_ mark: yaml_mark_t) -> YAMLNode.Mark {
        YAMLNode.Mark(line: mark.line + 1, column: mark.column + 1)
    }
}
