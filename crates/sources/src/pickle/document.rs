//! What a pickle holds, in a few flat arrays: eight bytes a value, no allocation a container.

/// A value of eight bytes: three bits say what it is, the rest is a number or an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Packed(u64);

const TAG_BITS: u32 = 3;

/// 0 is left to constants.
#[derive(Clone, Copy)]
#[repr(u64)]
enum Tag {
    Int = 1,
    WideInt = 2,
    Float = 3,
    Text = 4,
    Container = 5,
}

impl Packed {
    pub(super) const NONE: Self = Self(0);
    pub(super) const FALSE: Self = Self(1 << TAG_BITS);
    pub(super) const TRUE: Self = Self(2 << TAG_BITS);
    /// Something that is kept only so that the stack stays right: bytes, huge integers.
    pub(super) const OPAQUE: Self = Self(3 << TAG_BITS);

    fn tagged(tag: Tag, payload: u64) -> Self {
        Self(payload << TAG_BITS | tag as u64)
    }

    fn payload(self) -> usize {
        (self.0 >> TAG_BITS) as usize
    }

    pub(super) fn container(id: ContainerId) -> Self {
        Self::tagged(Tag::Container, u64::from(id.0))
    }

    pub(super) fn as_container(self) -> Option<ContainerId> {
        let is_one = self.0 & ((1 << TAG_BITS) - 1) == Tag::Container as u64;
        is_one.then_some(ContainerId((self.0 >> TAG_BITS) as u32))
    }
}

/// What a container is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// A list, tuple or set.
    Sequence,
    /// A dict: keys and values by turns.
    Dict,
}

/// A container's identity: the same object reached twice has the same one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ContainerId(pub(crate) u32);

/// A string's identity: the same object reached twice has the same one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TextId(pub(crate) u32);

const NO_SPAN: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Container {
    shape: Shape,
    first: u32,
    last: u32,
}

/// A run of items. A list that was filled in several steps has several, chained.
#[derive(Clone, Copy)]
struct Span {
    start: u32,
    length: u32,
    next: u32,
}

/// A value as its reader sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value<'a> {
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(TextId),
    Sequence(Node<'a>),
    Dict(Node<'a>),
    /// Something no snapshot needs: bytes, integers beyond 64 bits.
    Opaque,
}

/// The whole content of a pickle.
#[derive(Default)]
pub(crate) struct Document {
    items: Vec<Packed>,
    containers: Vec<Container>,
    spans: Vec<Span>,
    wide_ints: Vec<i64>,
    floats: Vec<f64>,
    text: Vec<u8>,
    text_ends: Vec<usize>,
    root: Option<Packed>,
}

impl Document {
    pub(super) fn set_root(&mut self, root: Packed) {
        self.root = Some(root);
    }

    /// The bytes that the document's content takes.
    pub(super) fn size(&self) -> u64 {
        let sizes = size_of_val(&self.items[..])
            + size_of_val(&self.containers[..])
            + size_of_val(&self.spans[..])
            + size_of_val(&self.wide_ints[..])
            + size_of_val(&self.floats[..])
            + self.text.len()
            + size_of_val(&self.text_ends[..]);
        sizes as u64
    }

    pub(super) fn int(&mut self, value: i64) -> Packed {
        let payload = (value as u64) << TAG_BITS;
        if (payload as i64) >> TAG_BITS == value {
            return Packed(payload | Tag::Int as u64);
        }
        self.wide_ints.push(value);
        Packed::tagged(Tag::WideInt, self.wide_ints.len() as u64 - 1)
    }

    pub(super) fn float(&mut self, value: f64) -> Packed {
        self.floats.push(value);
        Packed::tagged(Tag::Float, self.floats.len() as u64 - 1)
    }

    /// Where the bytes of the next string go; [`Document::finish_text`] makes a value of them.
    pub(super) fn text_buffer(&mut self) -> &mut Vec<u8> {
        &mut self.text
    }

    /// A value's text, if it is one.
    pub(super) fn text_of(&self, packed: Packed) -> Option<&[u8]> {
        match self.unpack(packed) {
            Value::Text(id) => Some(self.text(id)),
            _ => None,
        }
    }

    pub(super) fn finish_text(&mut self) -> Packed {
        self.text_ends.push(self.text.len());
        Packed::tagged(Tag::Text, self.text_ends.len() as u64 - 1)
    }

    /// A new container, or nothing where there are too many.
    pub(super) fn container(&mut self, shape: Shape, items: &[Packed]) -> Option<Packed> {
        let id = ContainerId(u32::try_from(self.containers.len()).ok()?);
        self.containers.push(Container { shape, first: NO_SPAN, last: NO_SPAN });
        self.extend(id, items)?;
        Some(Packed::container(id))
    }

    pub(super) fn shape(&self, id: ContainerId) -> Shape {
        self.containers[id.0 as usize].shape
    }

    /// Adds items to a container, or says that there are too many of them.
    pub(super) fn extend(&mut self, id: ContainerId, items: &[Packed]) -> Option<()> {
        if items.is_empty() {
            return Some(());
        }
        let start = u32::try_from(self.items.len()).ok()?;
        let length = u32::try_from(items.len()).ok()?;
        start.checked_add(length)?;
        self.items.extend_from_slice(items);

        let container = &mut self.containers[id.0 as usize];
        if let Some(last) = self.spans.get_mut(container.last as usize)
            && last.start + last.length == start
        {
            last.length += length;
            return Some(());
        }
        let span = u32::try_from(self.spans.len()).ok()?;
        if let Some(last) = self.spans.get_mut(container.last as usize) {
            last.next = span;
        } else {
            container.first = span;
        }
        container.last = span;
        self.spans.push(Span { start, length, next: NO_SPAN });
        Some(())
    }

    /// The value that the pickle is of.
    pub(crate) fn root(&self) -> Value<'_> {
        self.root.map_or(Value::None, |root| self.unpack(root))
    }

    /// The bytes of a string; snapshots hold UTF-8, a hostile file may not.
    pub(crate) fn text(&self, id: TextId) -> &[u8] {
        let end = self.text_ends[id.0 as usize];
        let start = if id.0 == 0 { 0 } else { self.text_ends[id.0 as usize - 1] };
        &self.text[start..end]
    }

    /// How many strings there are; their ids are below this.
    pub(crate) fn text_count(&self) -> usize {
        self.text_ends.len()
    }

    #[inline]
    fn unpack(&self, packed: Packed) -> Value<'_> {
        const INT: u64 = Tag::Int as u64;
        const WIDE_INT: u64 = Tag::WideInt as u64;
        const FLOAT: u64 = Tag::Float as u64;
        const TEXT: u64 = Tag::Text as u64;
        const CONTAINER: u64 = Tag::Container as u64;
        match packed.0 & ((1 << TAG_BITS) - 1) {
            INT => Value::Int(packed.0 as i64 >> TAG_BITS),
            WIDE_INT => Value::Int(self.wide_ints[packed.payload()]),
            FLOAT => Value::Float(self.floats[packed.payload()]),
            TEXT => Value::Text(TextId(packed.payload() as u32)),
            CONTAINER => {
                let node = Node { document: self, id: ContainerId(packed.payload() as u32) };
                match self.shape(node.id) {
                    Shape::Sequence => Value::Sequence(node),
                    Shape::Dict => Value::Dict(node),
                }
            }
            _ => match packed {
                Packed::FALSE => Value::Bool(false),
                Packed::TRUE => Value::Bool(true),
                Packed::OPAQUE => Value::Opaque,
                _ => Value::None,
            },
        }
    }
}

/// A container of a document.
#[derive(Clone, Copy)]
pub(crate) struct Node<'a> {
    document: &'a Document,
    pub(crate) id: ContainerId,
}

impl std::fmt::Debug for Node<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Node({})", self.id.0)
    }
}

impl<'a> Node<'a> {
    /// The items in order; of a dict, keys and values by turns.
    pub(crate) fn items(self) -> impl Iterator<Item = Value<'a>> {
        self.packed().map(move |packed| self.document.unpack(packed))
    }

    /// The items side by side, in order, where they lie so: nearly always.
    pub(crate) fn as_slice(self) -> Option<&'a [Packed]> {
        let mut items = self.packed();
        let piece = items.piece.as_slice();
        items.next_piece().is_none().then_some(piece)
    }

    /// How many items there are.
    pub(crate) fn len(self) -> usize {
        self.spans().map(|span| span.length as usize).sum()
    }

    fn packed(self) -> PackedItems<'a> {
        let next = self.document.containers[self.id.0 as usize].first;
        let mut items = PackedItems { document: self.document, piece: [].iter(), next };
        items.next_piece();
        items
    }

    fn spans(self) -> impl Iterator<Item = &'a Span> {
        let document = self.document;
        let first = document.containers[self.id.0 as usize].first;
        std::iter::successors(document.spans.get(first as usize), |span| {
            document.spans.get(span.next as usize)
        })
    }

    /// The entries of a dict whose keys are strings. A key that comes twice counts as it comes.
    pub(crate) fn entries(self) -> impl Iterator<Item = (TextId, Value<'a>)> {
        let (document, mut items) = (self.document, self.packed());
        std::iter::from_fn(move || {
            loop {
                let (key, value) = (items.next()?, items.next()?);
                if let Value::Text(key) = document.unpack(key) {
                    return Some((key, document.unpack(value)));
                }
            }
        })
    }
}

/// The items of a container, span by span: nearly always there is one.
struct PackedItems<'a> {
    document: &'a Document,
    piece: std::slice::Iter<'a, Packed>,
    /// The span behind the piece.
    next: u32,
}

impl PackedItems<'_> {
    /// Goes on with the next span, if there is one.
    fn next_piece(&mut self) -> Option<()> {
        let span = self.document.spans.get(self.next as usize)?;
        self.piece = self.document.items[span.start as usize..][..span.length as usize].iter();
        self.next = span.next;
        Some(())
    }
}

impl Iterator for PackedItems<'_> {
    type Item = Packed;

    #[inline]
    fn next(&mut self) -> Option<Packed> {
        loop {
            if let Some(&packed) = self.piece.next() {
                return Some(packed);
            }
            self.next_piece()?;
        }
    }
}
