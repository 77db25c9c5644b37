"""Every kind of event, each with its sentence. The list is closed: an unknown kind cannot be written."""

from __future__ import annotations

from enum import StrEnum

from qingtuan.language import Words

_UNSAID = Words("", "")
"""For the type of looking one up by its value, which passes no sentence: every kind has one."""


class Kind(StrEnum):
    """One kind of event; `sentence` says what it means that it happened."""

    sentence: Words

    def __new__(cls, value: str, sentence: Words = _UNSAID) -> Kind:
        kind = str.__new__(cls, value)
        kind._value_ = value
        kind.sentence = sentence
        return kind

    MESSAGE_RECEIVED = (
        "message.received",
        Words("收到一个人的一条消息，接下了。", "A person's message arrived and was accepted."),
    )
    MESSAGE_IGNORED = (
        "message.ignored",
        Words(
            "收到一条消息，没有回答；记下原因，不记内容。",
            "A message arrived and was not answered; the reason stands, the content does not.",
        ),
    )
    MESSAGE_RECALLED = (
        "message.recalled",
        Words(
            "还没回答的一条消息收回了，或者改成了别的；它不再算数。",
            "A message that was not yet answered was taken back, or became something else; it counts no more.",
        ),
    )
    MESSAGE_SENT = (
        "message.sent",
        Words("一句回答、一个问题或一条通知进了待发的队列。", "A reply, question or notice was put into the outbox."),
    )
    GROUP_CHANGED = (
        "group.changed",
        Words(
            "有人进了群或离开了群，或者我自己：进群、被移出、被禁言、解禁。",
            "Somebody came to a group or left it, or I did; or I may not write there, or may again.",
        ),
    )
    TALK_OVERHEARD = (
        "talk.overheard",
        Words(
            "群里没有对我说的一句话，抄进了下一轮当材料。",
            "Something that was said in a group and not to me was copied into the next turn, as material.",
        ),
    )
    TALK_QUOTED = (
        "talk.quoted",
        Words("一条消息引用的那条，抄在它旁边。", "What a message quotes was copied beside it."),
    )
    OVERHEARING_CHOSEN = (
        "overhearing.chosen",
        Words("一个人不要被旁听，或者又可以了。", "A person does not want to be overheard, or may be again."),
    )
    COMMAND_RUN = "command.run", Words("一个命令做了，或者拒绝了。", "A command was carried out or refused.")

    MEDIA_FETCHED = (
        "media.fetched",
        Words(
            "消息留在平台上的一样东西取到了：图片、语音、文件，或者转发的文字。",
            "Something that a message left with its platform was fetched: a picture, voice, a file, or forwarded text.",
        ),
    )
    MEDIA_FAILED = (
        "media.failed",
        Words("那样东西取不到，或者不能留；原因写在内容里。", "It could not be fetched or kept; the reason stands."),
    )
    MEDIA_READ = (
        "media.read",
        Words(
            "一张图片、一段语音或一个文件读成了文字，或者读不了。",
            "A picture, a voice or a file was read as text, or could not be.",
        ),
    )

    SESSION_STARTED = "session.started", Words("一个地方开始了新的会话。", "A new session of a space began.")
    SESSION_CHOSEN = (
        "session.chosen",
        Words("一个会话成了那个地方正在进行的会话。", "A session became the running one of its space."),
    )
    SESSION_CLEARED = (
        "session.cleared",
        Words("一个会话的上下文清空了；它的事件都还在。", "The context of a session was emptied; its events stay."),
    )
    SESSION_REPAIRED = (
        "session.repaired",
        Words(
            "历史里被服务商拒绝的部分去掉或改写了。",
            "A part of the history that a provider refused was dropped or rewritten.",
        ),
    )

    TURN_STARTED = "turn.started", Words("开始处理一条消息。", "Work on a message began.")
    TURN_JOINED = (
        "turn.joined",
        Words(
            "还没回答之前又来了一条消息，并进了这一轮；也可能是顶替改过的那一条。",
            "Before anything was answered another message came and joined the turn, or took the place of one edited.",
        ),
    )
    TURN_FINISHED = (
        "turn.finished",
        Words("处理完一条消息；怎么结束的写在内容里。", "Work on a message ended; the outcome stands in the payload."),
    )
    TURN_FAILED = (
        "turn.failed",
        Words("一轮里有东西出错了；详情给主人看。", "Something broke in a turn; the detail is for the owner."),
    )

    MODEL_REQUESTED = (
        "model.requested",
        Words("给模型发了一个请求；各部分用散列指名。", "A request went to a model; its parts are named by hash."),
    )
    MODEL_ANSWERED = "model.answered", Words("模型的回答完整收到了。", "A model's answer arrived whole.")
    MODEL_FAILED = (
        "model.failed",
        Words(
            "给模型的请求没有结果，或者回答不能用。",
            "A request to a model came to nothing, or its answer could not be used.",
        ),
    )

    MODEL_CUT_OFF = (
        "model.cut_off",
        Words(
            "给模型的请求没等完：要问的变了，重新问。",
            "A request to a model was not waited for: what is to be asked had changed, and is asked anew.",
        ),
    )

    TOOL_STARTED = (
        "tool.started",
        Words(
            "一次工具调用就要开始；如果后面没有结果，就不知道做成没有。",
            "A tool call is about to run; with no result after it, its outcome is unknown.",
        ),
    )
    TOOL_FINISHED = (
        "tool.finished",
        Words(
            "一次工具调用有了结果：值、错误、拒绝或问题。",
            "A tool call has its result: a value, an error, a refusal or a question.",
        ),
    )

    CONFIRMATION_ASKED = (
        "confirmation.asked",
        Words("一次调用停下来，等人说行或不行。", "A call was stopped until somebody says yes or no."),
    )
    CONFIRMATION_ANSWERED = (
        "confirmation.answered",
        Words("一个问题有了答复，或者被新的问题取代。", "A question got its yes or its no, or was replaced."),
    )
    CONFIRMATION_EXPIRED = "confirmation.expired", Words("一个问题等过了时限。", "A question ran out of time.")
    INQUIRY_ASKED = (
        "inquiry.asked",
        Words("一个程序要问一个人一件事，问出去了。", "A program's question was put to a person."),
    )
    INQUIRY_ANSWERED = (
        "inquiry.answered",
        Words(
            "程序的问题有了回答，或者不想回答；说了什么只在那条消息里。",
            "A program's question was answered or declined; what was said stands in that message alone.",
        ),
    )
    INQUIRY_CLOSED = (
        "inquiry.closed",
        Words(
            "程序的问题不用回答了：过了时限，或者问的程序不等了。",
            "A program's question needs no answer any more: its time is over, or the program does not wait.",
        ),
    )
    STANDING_GIVEN = (
        "standing.given",
        Words(
            "主人预先允许了一个工具的一类调用：哪些，到什么时候。",
            "The owner allowed calls of a tool ahead: which, and until when.",
        ),
    )
    STANDING_REVOKED = (
        "standing.revoked",
        Words(
            "预先的允许收回了，或者被重新给的同一个取代。",
            "What was allowed ahead was taken back, or replaced by the same anew.",
        ),
    )

    DELIVERY_STARTED = (
        "delivery.started",
        Words("正在把一条消息交给平台。", "A message is being handed to its platform."),
    )
    DELIVERY_PART = (
        "delivery.part",
        Words(
            "消息分几段发，其中一段有了结果，还有下一段。",
            "A message of several parts: what became of one of them; more follow.",
        ),
    )
    DELIVERY_LATER = (
        "delivery.later",
        Words("平台确定没有收下，过一会儿再发。", "The platform certainly did not take it; it is tried again later."),
    )
    DELIVERY_CUT = (
        "delivery.cut",
        Words("一条正在发的消息，剩下的几段不发了。", "The rest of a message that is being sent is not sent any more."),
    )
    DELIVERY_PAUSED = (
        "delivery.paused",
        Words(
            "连着几次不知道送到没有，一个聊天或一个渠道先停发一会儿。",
            "Several outcomes in a row are unknown: a chat or a channel is given nothing for a while.",
        ),
    )
    DELIVERY_RESUMED = (
        "delivery.resumed",
        Words("停发的又送到了，照常发。", "What was paused takes messages again."),
    )
    DELIVERY_SENT = "delivery.sent", Words("平台收下了这条消息。", "The platform took the message.")
    DELIVERY_REFUSED = "delivery.refused", Words("平台拒绝了这条消息。", "The platform refused the message.")
    DELIVERY_UNKNOWN = (
        "delivery.unknown",
        Words(
            "不知道平台收下没有；不再发第二遍。",
            "Nobody knows whether the platform took the message; it is not sent again.",
        ),
    )

    PREVIEW_SHOWN = (
        "preview.shown",
        Words("边写边给人看的一条消息发出去了。", "A message that shows an answer while it is written was sent."),
    )
    PREVIEW_OVER = (
        "preview.over",
        Words(
            "那条消息成了回答的开头，或者撤掉了。", "That message became the beginning of the answer, or was removed."
        ),
    )

    PAGE_INTENDED = (
        "page.intended",
        Words("页面就要改了，记着改前和改后的散列。", "Pages are about to change, with their hashes before and after."),
    )
    BELIEF_WRITTEN = (
        "belief.written",
        Words("一条记忆写在了维基里，或者又在那里看到它。", "A belief stands in the wiki, or was seen there again."),
    )
    BELIEF_RETRACTED = (
        "belief.retracted",
        Words("一条记忆移到了历史，或者不在页面上了。", "A belief moved to history, or is on no page any more."),
    )
    BELIEF_PURGED = (
        "belief.purged",
        Words(
            "一条记忆彻底清除了；点到的事件只剩空壳。",
            "An entry was erased for good; the events that it names became tombstones.",
        ),
    )
    BELIEF_PROPOSED = "belief.proposed", Words("一条候选的记忆等着审。", "A candidate waits for review.")
    BELIEF_REVIEWED = (
        "belief.reviewed",
        Words(
            "一条候选的记忆通过了、改过了、否决了或撤掉了。", "A candidate was accepted, changed, rejected or dropped."
        ),
    )
    BELIEF_WITHHELD = (
        "belief.withheld",
        Words(
            "一条候选的记忆碰上「从不记住」的规则，没有记。", "A candidate fell under a rule never to be remembered."
        ),
    )
    REVIEW_ASKED = (
        "review.asked",
        Words(
            "每周一次，问一个人要不要记住等着的几条。", "A person was asked, once a week, about what waits for review."
        ),
    )
    MEMORY_IMPORTED = (
        "memory.imported",
        Words(
            "一个人把别处的记忆带了进来：从哪里，几条。",
            "A person brought memory in from elsewhere: from where, and how much.",
        ),
    )
    STATEMENT_IMPORTED = (
        "statement.imported",
        Words(
            "导入时读到的一句话，连同它的文件和日期；有一条记忆由它而来。",
            "A statement as an import read it, with its file and its day; an entry comes from it.",
        ),
    )
    WRITE_UNDONE = "write.undone", Words("一次写入撤销了。", "A write was taken back.")
    PAGE_EDITED = "page.edited", Words("有人手改了页面。", "Somebody changed pages by hand.")
    NOTE_WRITTEN = "note.written", Words("一篇笔记写成了一页。", "A note was written as a page.")
    WIKI_COMMITTED = (
        "wiki.committed",
        Words("一轮的写入或手改成了一个提交。", "The writes of a turn, or hand edits, became a commit."),
    )
    WIKI_SYNCED = (
        "wiki.synced",
        Words("和远程对齐了：推了上去，或者拿了下来。", "The wiki was pushed to its remote, or pulled from there."),
    )
    WIKI_REWRITTEN = (
        "wiki.rewritten",
        Words(
            "页面的 git 历史重写了，里面不再有要抹掉的；提交的新旧编号记在内容里。",
            "The git history of the pages was made anew without what is erased; the payload maps old commits to new.",
        ),
    )

    SUMMARY_WRITTEN = (
        "summary.written",
        Words("一个会话较早的部分压成了摘要。", "An older part of a session was compressed."),
    )
    SUMMARY_DELETED = (
        "summary.deleted",
        Words("一段摘要删掉了；它盖住的部分又按原文读。", "A summary was deleted; what it covered is read raw again."),
    )
    EXTRACTION_DONE = (
        "extraction.done",
        Words(
            "把一段会话找了一遍，看有什么该记住。", "A stretch of a session was searched for what should be remembered."
        ),
    )

    CHORE_FAILED = (
        "chore.failed",
        Words(
            "回答之后该做的一件事没做成；以后还会做。",
            "Something that was due after a reply came to nothing; it stays due.",
        ),
    )
    TROUBLE_TOLD = (
        "trouble.told",
        Words(
            "告诉了一个人有什么不对劲；它过去之前不再说。",
            "Somebody was told that something is not as it should be; they are not told again while it lasts.",
        ),
    )
    TROUBLE_OVER = (
        "trouble.over",
        Words("不对劲的过去了；再来就再说。", "That is over; if it comes back, it is told again."),
    )

    SERVER_PINNED = (
        "server.pinned",
        Words(
            "第一次看到一个服务器的工具，或者按现在的样子认可了。",
            "A server's tools were seen for the first time, or approved as they are now.",
        ),
    )

    AGENT_PINNED = (
        "agent.pinned",
        Words(
            "第一次看到另一个助手的名片，或者按现在的样子认可了。",
            "The card of another agent was seen for the first time, or approved as it is now.",
        ),
    )
    AGENT_ANSWERED = (
        "agent.answered",
        Words(
            "问了另一个助手，它答了、还在做，或者反过来问；记着怎么接着问。",
            "Another agent was asked and has answered, goes on, or asks back; how to go on with it stands here.",
        ),
    )
    TASK_ASKED = (
        "task.asked",
        Words(
            "另一个助手的一条消息成了一个任务，或者接着说一个任务。",
            "A message of another agent became a task, or goes on with one.",
        ),
    )
    TASK_CANCELED = (
        "task.canceled",
        Words("另一个助手取消了它的任务。", "Another agent canceled its task."),
    )
    CAPABILITY_DEPLOYED = (
        "capability.deployed",
        Words(
            "一个自己写的工具有了新的版本，或者有一个等人点头。",
            "A self-made tool has a new version, or one that waits.",
        ),
    )
    CAPABILITY_APPROVED = "capability.approved", Words("主人认可了等着的版本。", "The owner approved what waited.")
    CAPABILITY_WITHDRAWN = "capability.withdrawn", Words("等着的版本不要了。", "What waited was turned down.")
    CAPABILITY_STORED = "capability.stored", Words("一个版本的文件写好了。", "The files of a version are written.")
    CAPABILITY_DELETED = "capability.deleted", Words("一个自己写的工具没有了。", "A self-made tool is no more.")
    CAPABILITY_SWITCHED = (
        "capability.switched",
        Words("一个自己写的工具停用了，或者又可以用了。", "A self-made tool was disabled, or may be used again."),
    )
    CAPABILITY_CALLED = (
        "capability.called",
        Words(
            "一个自己写的工具运行了一次：成没成，多久，向哪里发了什么。",
            "A self-made tool ran once: whether it worked, how long, and where it reached out to.",
        ),
    )
    PROGRAM_CALLED = (
        "program.called",
        Words("一个程序经过 MCP 调用了一个工具，或读了一页。", "A program called a tool or read a page by MCP."),
    )
    PROGRAM_ANSWERED = (
        "program.answered",
        Words("那次调用有了结果，或者停下了。", "That call has ended, or was stopped."),
    )

    SETTINGS_CHANGED = "settings.changed", Words("在程序里面改了一项设置。", "A setting was changed from within.")
    PEOPLE_CHANGED = (
        "people.changed",
        Words(
            "people.toml 变了，从此按它认人；看不懂的不采用，还按原来的认。",
            "people.toml changed and counts from now on; one that cannot be read is kept out.",
        ),
    )
    FOLDER_RESTORED = (
        "folder.restored",
        Words(
            "数据文件夹换成了一份备份里的样子；那时没完的都停下了。",
            "The data folder was put back to what a backup shows; what was open then has ended.",
        ),
    )
    PERSON_CLAIMED = (
        "person.claimed",
        Words("一个账号用一次性的码认了主人。", "An account was bound to the owner by the one-use code."),
    )
    PERSON_LINKED = (
        "person.linked",
        Words("两个人并成一个：是同一个人的账号。", "Two persons became one: their accounts are one person's."),
    )
    PERSON_PARTED = (
        "person.parted",
        Words("并在一起的账号又分开了。", "Accounts that had become one person's were parted again."),
    )
    CODE_GIVEN = (
        "code.given",
        Words(
            "给了一个一次性的码：认主人，或者关联账号；只存散列。",
            "A one-use code was given, to claim the assistant or to link an account; only its hash is kept.",
        ),
    )
    CODE_TRIED = (
        "code.tried",
        Words(
            "有人发来一个码：对、不对，或者这个码从此作废。",
            "Somebody sent a code: right or wrong, or by that the code is void.",
        ),
    )
    KEY_ISSUED = (
        "key.issued",
        Words(
            "给一个程序发了密钥：替谁说话，看得到多少。", "A program was given a key: for whom it speaks, what it sees."
        ),
    )
    KEY_REVOKED = "key.revoked", Words("一把密钥收回了，从此无效。", "A key was revoked and opens nothing any more.")
    GROUP_MOVED = (
        "group.moved",
        Words(
            "平台给一个群换了号；这里还是原来那个群。",
            "A platform gave a group another number; here it stays the group that it was.",
        ),
    )
    PERSON_FORGOTTEN = (
        "person.forgotten",
        Words("一个人的一切都抹掉了；事件只剩空壳。", "A person was erased; their events became tombstones."),
    )
    ERASURE_FINISHED = (
        "erasure.finished",
        Words(
            "抹掉的东西，文件、索引和 git 历史里也都没有了。",
            "What was erased is gone from files, indexes and the git history, too.",
        ),
    )
