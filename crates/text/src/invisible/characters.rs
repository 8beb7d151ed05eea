//! The characters that have a role, and what becomes of them.

use super::InvisibleReport;

/// The most zero-width characters that may follow each other.
const LONGEST_RUN: usize = 8;

/// The most bidirectional controls that are open at a time, as in the Unicode algorithm (UAX #9, BD2).
const DEEPEST: usize = 125;

/// The most bytes of a line that wait for the end of an override or an isolate.
const LONGEST_OPEN: usize = 16 << 10;

/// The emoji whose tags are kept follow this character: a black flag.
const FLAG: char = '\u{1F3F4}';

/// The tags of the registered emoji (RGI_Emoji_Tag_Sequence): the flags of England, Scotland and Wales.
const REGISTERED: [&[u8]; 3] = [b"gbeng\x7f", b"gbsct\x7f", b"gbwls\x7f"];

/// The bytes of a character as it is written: UTF-8, or an escape of JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Spelling {
    bytes: [u8; 12],
    length: u8,
}

impl Spelling {
    pub(super) fn of(byte: u8) -> Self {
        let mut spelling = Self::default();
        spelling.push(byte);
        spelling
    }

    /// Adds a byte. An escape of two parts is the longest spelling.
    pub(super) fn push(&mut self, byte: u8) {
        if let Some(place) = self.bytes.get_mut(usize::from(self.length)) {
            *place = byte;
            self.length += 1;
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.length)).unwrap_or_default()
    }

    pub(super) fn len(&self) -> usize {
        usize::from(self.length)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.length == 0
    }
}

/// The role of a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// It is visible, or has no role here.
    Plain,
    LineEnd,
    Flag,
    /// A tag, with the ASCII character that it repeats.
    Tag(u8),
    /// It takes no room: a variation selector, a joiner, a mark.
    ZeroWidth,
    /// A bidirectional control, which takes no room either.
    Control(Control),
}

/// A bidirectional control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Control {
    Embedding,
    Override,
    Isolate,
    /// PDF: ends an embedding or an override.
    PopDirectional,
    /// PDI: ends an isolate, and what was opened inside of it.
    PopIsolate,
}

impl Role {
    fn of(char: char) -> Self {
        match char {
            '\n' | '\r' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}' => Self::LineEnd,
            FLAG => Self::Flag,
            '\u{E0000}'..='\u{E007F}' => {
                Self::Tag(u8::try_from(u32::from(char) & 0x7f).unwrap_or_default())
            }
            '\u{202A}' | '\u{202B}' => Self::Control(Control::Embedding),
            '\u{202D}' | '\u{202E}' => Self::Control(Control::Override),
            '\u{2066}'..='\u{2068}' => Self::Control(Control::Isolate),
            '\u{202C}' => Self::Control(Control::PopDirectional),
            '\u{2069}' => Self::Control(Control::PopIsolate),
            // Default_Ignorable_Code_Point, except the fillers of Hangul, which take room, and interlinear annotations.
            '\u{AD}'
            | '\u{34F}'
            | '\u{61C}'
            | '\u{17B4}'
            | '\u{17B5}'
            | '\u{180B}'..='\u{180F}'
            | '\u{200B}'..='\u{200F}'
            | '\u{2060}'..='\u{2065}'
            | '\u{206A}'..='\u{206F}'
            | '\u{FE00}'..='\u{FE0F}'
            | '\u{FEFF}'
            | '\u{FFF0}'..='\u{FFFB}'
            | '\u{1BCA0}'..='\u{1BCA3}'
            | '\u{1D173}'..='\u{1D17A}'
            | '\u{E0080}'..='\u{E0FFF}' => Self::ZeroWidth,
            _ => Self::Plain,
        }
    }
}

/// An embedding, an override or an isolate that is open.
#[derive(Clone, Copy, Debug)]
struct Opened {
    control: Control,
    code: u32,
    /// The place of its spelling in the held bytes. `None` for an embedding, which is never made visible.
    place: Option<(usize, usize)>,
}

/// The state between characters.
#[derive(Clone, Debug, Default)]
pub(super) struct Characters {
    pub(super) report: InvisibleReport,
    /// The tags after a flag, as long as they may be those of an emoji. `None` outside of one.
    flag: Option<Vec<Spelling>>,
    /// The ASCII characters of these tags.
    flag_tags: Vec<u8>,
    /// The characters of a run that may still be kept.
    run: Vec<(char, Spelling)>,
    /// The run is too long, so the rest of it is removed.
    is_flood: bool,
    open: Vec<Opened>,
    /// The bytes since the first override or isolate that is open.
    held: Vec<u8>,
}

impl Characters {
    /// Returns whether a control is open or in the current run, so that line ends matter.
    pub(super) fn has_open(&self) -> bool {
        !self.open.is_empty() || !self.run.is_empty()
    }

    /// Takes bytes without characters that have a role.
    pub(super) fn text(&mut self, bytes: &[u8], output: &mut Vec<u8>) {
        self.end_flag();
        self.end_run(output);
        self.emit(bytes, output);
    }

    /// Takes one character.
    pub(super) fn character(&mut self, char: char, spelling: &Spelling, output: &mut Vec<u8>) {
        let role = Role::of(char);
        if let Role::Tag(tag) = role {
            // A tag does not end a run: it is not there for a reader.
            return self.tag(tag, spelling, output);
        }
        self.end_flag();
        match role {
            Role::ZeroWidth | Role::Control(_) => self.zero_width(char, spelling),
            _ => {
                self.end_run(output);
                self.shown(char, role, spelling, output);
            }
        }
    }

    /// Ends the line: what is open in it is made visible.
    pub(super) fn end_line(&mut self, output: &mut Vec<u8>) {
        self.end_flag();
        self.end_run(output);
        self.close_line(output);
    }

    fn tag(&mut self, tag: u8, spelling: &Spelling, output: &mut Vec<u8>) {
        let Some(tags) = &mut self.flag else {
            self.report.tags += 1;
            return;
        };
        tags.push(*spelling);
        self.flag_tags.push(tag);
        let known = |registered: &&&[u8]| registered.starts_with(&self.flag_tags);
        match REGISTERED.iter().find(known) {
            Some(registered) if registered.len() == self.flag_tags.len() => {
                let tags = self.flag.take().unwrap_or_default();
                for spelling in tags {
                    self.emit(spelling.bytes(), output);
                }
                self.flag_tags.clear();
            }
            Some(_) => {}
            None => self.end_flag(),
        }
    }

    /// Removes the tags after a flag that are not those of an emoji.
    fn end_flag(&mut self) {
        if let Some(tags) = self.flag.take() {
            self.report.tags += tags.len() as u64;
            self.flag_tags.clear();
        }
    }

    fn zero_width(&mut self, char: char, spelling: &Spelling) {
        if self.is_flood {
            self.report.zero_width += 1;
            return;
        }
        self.run.push((char, *spelling));
        if self.run.len() > LONGEST_RUN {
            self.is_flood = true;
            self.report.zero_width += self.run.len() as u64;
            self.run.clear();
        }
    }

    /// Ends a run, and keeps it unless it was too long.
    fn end_run(&mut self, output: &mut Vec<u8>) {
        self.is_flood = false;
        if self.run.is_empty() {
            return;
        }
        for (char, spelling) in std::mem::take(&mut self.run) {
            self.shown(char, Role::of(char), &spelling, output);
        }
    }

    /// Writes a character that is kept.
    fn shown(&mut self, char: char, role: Role, spelling: &Spelling, output: &mut Vec<u8>) {
        match role {
            Role::LineEnd => self.close_line(output),
            Role::Flag => self.flag = Some(Vec::new()),
            Role::Control(control) => return self.control(control, char, spelling, output),
            Role::Plain | Role::Tag(_) | Role::ZeroWidth => {}
        }
        self.emit(spelling.bytes(), output);
    }

    fn control(&mut self, control: Control, char: char, spelling: &Spelling, output: &mut Vec<u8>) {
        match control {
            Control::Embedding | Control::Override | Control::Isolate => {
                let is_visible = control != Control::Embedding;
                if self.open.len() < DEEPEST {
                    let place = is_visible.then(|| (self.held.len(), spelling.len()));
                    self.open.push(Opened { control, code: u32::from(char), place });
                    if is_visible {
                        // From here on the line waits.
                        self.held.extend_from_slice(spelling.bytes());
                        return;
                    }
                } else if is_visible {
                    self.report.open_controls += 1;
                    return self.emit(visible(u32::from(char)).as_bytes(), output);
                }
            }
            Control::PopDirectional => {
                let top = self.open.last().map(|opened| opened.control);
                if matches!(top, Some(Control::Embedding | Control::Override)) {
                    self.open.pop();
                }
            }
            Control::PopIsolate => {
                let isolate = |opened: &Opened| opened.control == Control::Isolate;
                if let Some(at) = self.open.iter().rposition(isolate) {
                    self.open.truncate(at);
                }
            }
        }
        self.emit(spelling.bytes(), output);
    }

    /// Writes bytes, which wait if a control before them is open.
    fn emit(&mut self, bytes: &[u8], output: &mut Vec<u8>) {
        if self.waits() {
            // A long line must not wait as a whole, however it arrives.
            let room = LONGEST_OPEN.saturating_sub(self.held.len());
            if let Some((first, rest)) = bytes.split_at_checked(room) {
                self.held.extend_from_slice(first);
                self.close_line(output);
                output.extend_from_slice(rest);
            } else {
                self.held.extend_from_slice(bytes);
            }
            return;
        }
        output.append(&mut self.held);
        output.extend_from_slice(bytes);
    }

    /// Returns whether an override or an isolate is open.
    fn waits(&self) -> bool {
        self.open.iter().any(|opened| opened.place.is_some())
    }

    /// Writes the held bytes, with the open controls in a visible form.
    fn close_line(&mut self, output: &mut Vec<u8>) {
        let mut written = 0;
        for opened in std::mem::take(&mut self.open) {
            let Some((start, length)) = opened.place else { continue };
            output.extend_from_slice(self.held.get(written..start).unwrap_or_default());
            output.extend_from_slice(visible(opened.code).as_bytes());
            written = start + length;
            self.report.open_controls += 1;
        }
        output.extend_from_slice(self.held.get(written..).unwrap_or_default());
        self.held.clear();
    }
}

/// Returns the visible form of a character.
fn visible(code: u32) -> String {
    format!("<U+{code:04X}>")
}
